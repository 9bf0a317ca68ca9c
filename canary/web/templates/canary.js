// Keeps a page fresh and shows the values under the pointer. Every page is whole without it.
"use strict";
(() => {
  const EVERY_MS = 15000;
  const lang = document.documentElement.lang;
  let etag = null;

  const ago = new Intl.RelativeTimeFormat(lang, { numeric: "always", style: "short" });
  const relative = () => {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const s = (Date.parse(time.dateTime) - Date.now()) / 1000;
      const far = Math.abs(s);
      const [unit, size] = far < 90 ? ["second", 1] : far < 5400 ? ["minute", 60] : far < 129600 ? ["hour", 3600] : ["day", 86400];
      time.title = time.dateTime;
      time.dataset.rel = ago.format(Math.round(s / size), unit);
    }
  };

  // An answer replaces what is shown, unless somebody is reading with a selection, a focus or something opened in it.
  const busy = () => {
    const main = document.getElementById("main");
    const chosen = document.getSelection();
    return (chosen && !chosen.isCollapsed) || (main.contains(document.activeElement) && main !== document.activeElement)
      || main.querySelector("details[open]") !== null;
  };
  const refresh = async () => {
    if (document.hidden || busy()) return;
    try {
      const answer = await fetch(location.href, { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store" });
      const made = document.getElementById("made");
      if (answer.status === 304) {
        const now = new Date(Date.parse(answer.headers.get("Date")));
        made.dateTime = now.toISOString();
        made.textContent = now.toISOString().slice(0, 19).replace("T", " ") + " UTC";
      } else if (answer.ok) {
        etag = answer.headers.get("ETag");
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (busy()) return;
        document.title = fresh.title;
        document.getElementById("main").replaceWith(fresh.getElementById("main"));
        made.replaceWith(fresh.getElementById("made"));
        relative();
      }
      document.body.classList.toggle("stale", !(answer.ok || answer.status === 304));
    } catch {
      document.body.classList.add("stale");
    }
  };

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  const unit = document.body.dataset;
  const written = (value, share) => value === null ? "–" : share ? `${Math.round(value * 100)}${unit.percent}` : value < 0.0995 ? `${+(value * 1000).toPrecision(3)}${unit.ms}` : `${+value.toPrecision(3)}${unit.s}`;
  const ofPlot = (plot, part) => {
    const lines = JSON.parse(plot.dataset.lines);
    const count = lines[0][1].length;
    const place = Math.min(count - 1, Math.floor(part * count));
    const from = +plot.dataset.from;
    const at = new Date((from + (+plot.dataset.to - from) * place / count) * 1000);
    const share = plot.dataset.share === "1";
    return [`${at.toISOString().slice(0, 16).replace("T", " ")} UTC`, ...lines.map(([name, values]) => `${name} ${written(values[place], share)}`)];
  };
  const ofBars = (bars, part) => {
    const days = bars.dataset.bars.split(",");
    const place = Math.min(days.length - 1, Math.floor(part * days.length));
    const at = new Date(Date.parse(bars.dataset.from) + place * 86400000);
    const [failed, warned, passed, unknown] = days[place].split("/");
    return [at.toISOString().slice(0, 10), days[place] ? `✕ ${failed}  ▲ ${warned}  ✓ ${passed}  ? ${unknown}` : "–"];
  };
  const point = (event) => {
    const svg = event.target.closest ? event.target.closest("svg.plot, svg.bars") : null;
    tip.hidden = !svg;
    if (!svg) return;
    const box = svg.getBoundingClientRect();
    const part = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 0.9999);
    tip.replaceChildren(...(svg.classList.contains("plot") ? ofPlot : ofBars)(svg, part).map((line) => {
      const row = document.createElement("div");
      row.textContent = line;
      return row;
    }));
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(left, 4)}px`;
    tip.style.top = `${Math.max(box.top - tip.offsetHeight - 6, 4)}px`;
  };
  document.body.append(tip);
  document.addEventListener("pointermove", point, { passive: true });
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true, capture: true });
  document.addEventListener("visibilitychange", refresh);
  relative();
  setInterval(refresh, EVERY_MS);
})();
