"""An adapter in another language, which was written with docs/apps-adapters.md alone: a file with a shared secret on every member."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def members(request):
    wanted = request["instance"]["placement"]["allocation_ids"]
    if len(wanted) % 2 == 0:
        raise Refused("EvenMembers", f"expected an odd number of allocations, found {len(wanted)}")
    return {
        "members": [{"component": "beacon", "allocation": name} for name in wanted],
        "probes": {"beacon": {"script": "beacon-probe", "every": "5s"}},
    }


def script(member, stage, name, **more):
    return {
        "id": f"{name}-{member['name']}",
        "title": f"Run {name} on {member['node']['name']}",
        "member": member["name"],
        "stage": stage,
        "type": "process.run",
        "task": {"script": f"beacon-{name}", "arguments": [member["node"]["name"]]},
        **more,
    }


def write(member, stage, colour):
    return {
        "id": f"write-{member['name']}",
        "title": f"Write the file of {member['node']['name']}",
        "member": member["name"],
        "stage": stage,
        "type": "file.write",
        "task": {"path": "/srv/beacon/state", "content": f"{colour} ${{secret:key}} ${{fact:kernel}}\n", "mode": "0600"},
        "onFailure": "degrade",
    }


def plan(request):
    operation, everyone = request["operation"], request["members"]
    wanted = [one for one in everyone if one["isWanted"]]
    leaving = [one for one in everyone if not one["isWanted"]]
    kind = operation["type"]
    names = lambda some: [one["name"] for one in some]
    if kind in ("deploy", "change", "reconcile", "repair"):
        if kind == "repair":
            wanted, leaving = [one for one in wanted if one["name"] == operation["member"]], []
        colour = request["instance"]["parameters"].get("colour", "red")
        look = [script(one, 0, "look", keepsFact="kernel") for one in wanted[:1]]
        return {
            "steps": look + [write(one, 1, colour) for one in wanted] + [script(one, 2, "remove", reportsResidue=True) for one in leaving],
            "secrets": [{"name": "key", "bytes": 16, "encoding": "hex"}],
            "joins": names(wanted),
            "leaves": names(leaving),
            "phase": "shining",
        }
    if kind == "decommission":
        return {"steps": [script(one, 0, "remove", reportsResidue=True) for one in everyone], "leaves": names(everyone), "phase": "removed"}
    if kind == "blink":
        return {"steps": [script(one, 0, "blink") for one in wanted], "phase": "shining"}
    raise Refused("OperationNotSupported", f"a beacon cannot {kind}")


def observe(request):
    found = {}
    for member in request["members"]:
        probe = request["probes"].get(member["name"])
        if probe is None:
            found[member["name"]] = {"health": "unknown"}
        elif probe["exitCode"] == 0:
            found[member["name"]] = {"health": "healthy", "detail": {"state": probe["output"].split()[0]}}
        else:
            found[member["name"]] = {"health": "failed", "message": "it is dark", "isRepairable": True}
    isWell = all(one["health"] == "healthy" for one in found.values())
    return {"health": "healthy" if isWell else "degraded", "members": found}


def access(request):
    return {"endpoints": [{"name": one["component"], "address": f"file://{one['node']['address']}/srv/beacon/state"} for one in request["members"]][:16]}


questions = {"members": members, "plan": plan, "observe": observe, "access": access}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["authorization"] != f"Bearer {sys.argv[2]}":
            return self.answer(401, {})
        try:
            self.answer(200, questions[self.path.strip("/")](body))
        except Refused as problem:
            self.answer(422, {"code": problem.code, "message": str(problem)})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
