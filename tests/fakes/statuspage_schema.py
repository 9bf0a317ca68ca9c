"""The documents of Statuspage's API v2 as JSON Schemas, written from its documented fields. https://metastatuspage.com/api

Strict: every documented member must be there, and nothing else may be.
"""

TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"}
MAYBE_TIME = {"anyOf": [TIME, {"type": "null"}]}
ID = {"type": "string", "pattern": "^[a-z0-9]{4,32}$"}
TEXT = {"type": "string", "minLength": 1}
MAYBE_TEXT = {"type": ["string", "null"]}
URL = {"type": "string", "pattern": "^https?://"}
NULL = {"type": "null"}
BOOL = {"type": "boolean"}
LEVELS = {"enum": ["operational", "degraded_performance", "partial_outage", "major_outage", "under_maintenance"]}


def closed(properties, *, optional=()):
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def many(items):
    return {"type": "array", "items": items}


PAGE = closed({"id": ID, "name": TEXT, "url": URL, "time_zone": {"const": "Etc/UTC"}, "updated_at": TIME})
STATUS = closed({"indicator": {"enum": ["none", "minor", "major", "critical"]}, "description": TEXT})
COMPONENT = closed(
    {
        "id": ID,
        "name": TEXT,
        "status": LEVELS,
        "created_at": TIME,
        "updated_at": TIME,
        "position": {"type": "integer", "minimum": 1},
        "description": MAYBE_TEXT,
        "showcase": BOOL,
        "start_date": MAYBE_TEXT,
        "group_id": {"anyOf": [ID, NULL]},
        "page_id": ID,
        "group": BOOL,
        "only_show_if_degraded": BOOL,
        "components": many(ID),
    },
    optional=("components",),
) | {
    "if": {"properties": {"group": {"const": True}}},
    "then": {"required": ["components"], "properties": {"group_id": NULL}},
    "else": {"properties": {"group_id": ID}, "not": {"required": ["components"]}},
}
CHANGE = closed({"code": ID, "name": TEXT, "old_status": LEVELS, "new_status": LEVELS})


def update(statuses):
    return closed(
        {
            "id": ID,
            "incident_id": ID,
            "status": {"enum": statuses},
            "body": TEXT,
            "created_at": TIME,
            "updated_at": TIME,
            "display_at": TIME,
            "affected_components": {"anyOf": [many(CHANGE), NULL]},
            "deliver_notifications": BOOL,
            "custom_tweet": MAYBE_TEXT,
            "tweet_id": MAYBE_TEXT,
        }
    )


def event(statuses, impacts, **more):
    return closed(
        {
            "id": ID,
            "name": TEXT,
            "status": {"enum": statuses},
            "impact": {"enum": impacts},
            "created_at": TIME,
            "updated_at": TIME,
            "started_at": TIME,
            "monitoring_at": MAYBE_TIME,
            "resolved_at": MAYBE_TIME,
            "shortlink": URL,
            "page_id": ID,
            "reminder_intervals": MAYBE_TEXT,
            "incident_updates": many(update(statuses)) | {"minItems": 1},
            "components": many(COMPONENT),
            **more,
        }
    )


INCIDENT = event(
    ["investigating", "identified", "monitoring", "resolved", "postmortem"], ["none", "minor", "major", "critical"]
)
UNRESOLVED = INCIDENT | {"properties": INCIDENT["properties"] | {"resolved_at": NULL}}
MAINTENANCE = event(
    ["scheduled", "in_progress", "verifying", "completed"], ["none"], scheduled_for=TIME, scheduled_until=TIME
)


def document(**more):
    return closed({"page": PAGE, **more})


MAINTENANCES = document(scheduled_maintenances=many(MAINTENANCE))
SCHEMAS = {
    "summary.json": document(
        status=STATUS,
        components=many(COMPONENT),
        incidents=many(UNRESOLVED),
        scheduled_maintenances=many(MAINTENANCE),
    ),
    "status.json": document(status=STATUS),
    "components.json": document(components=many(COMPONENT)),
    "incidents.json": document(incidents=many(INCIDENT)),
    "incidents/unresolved.json": document(incidents=many(UNRESOLVED)),
    "scheduled-maintenances.json": MAINTENANCES,
    "scheduled-maintenances/upcoming.json": MAINTENANCES,
    "scheduled-maintenances/active.json": MAINTENANCES,
}
