"""What the shipped rules and the dashboard ask Prometheus for."""

import json
import re
from pathlib import Path

import yaml

CONFIG = Path(__file__).parents[2] / "config"
RULES = CONFIG / "prometheus" / "canary.rules.yml"
DASHBOARD = CONFIG / "grafana" / "canary.json"


def rules():
    """All of them, records and alerts."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard():
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))


def dashboard_queries():
    """`{panel or annotation / letter: query}`, the variables still in them."""
    whole = dashboard()
    panels = {
        f"{panel['title']} / {target['refId']}": target["expr"]
        for panel in whole["panels"]
        for target in panel.get("targets", ())
    }
    annotations = {f"annotation {each['name']}": each["expr"] for each in whole["annotations"]["list"]}
    return panels | annotations


def filled_in(query, *, window="1m"):
    """As Grafana sends it where everything is chosen."""
    chosen = {"$__range": window, "$__rate_interval": window, "$window": window}
    chosen |= {f"${name}": ".*" for name in ("pipeline", "hop", "probe")}
    for variable in sorted(chosen, key=len, reverse=True):
        query = query.replace(variable, chosen[variable])
    assert "$" not in query
    return query


def metrics_in(query):
    """Names of our metrics, without the suffixes of a histogram and without recorded series."""
    names = re.findall(r"(?<![\w:])canary_\w+(?![\w:])", query)
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


def selectors_in(query):
    """`(metric, labels)` of each of our metrics that is narrowed down."""
    found = re.findall(r"(?<![\w:])(canary_\w+)\{([^}]*)\}", query)
    return [
        (re.sub(r"_(bucket|sum|count)$", "", name), set(re.findall(r"(\w+)\s*[=!]", labels))) for name, labels in found
    ]
