"""A headless Chromium, driven by ChromeDriver through the WebDriver protocol: no package of Python is needed."""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how the protocol names an element
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Shift": "\ue008", "Right": "\ue014",
        "Down": "\ue015", "Left": "\ue012", "Up": "\ue013"}


def missing():
    """What is not installed, or None."""
    if not shutil.which("chromedriver"):
        return "chromedriver (Debian: chromium-driver)"
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        return "chromium (Debian: chromium)"
    return None


class Browser:
    """One window of 1280 x 800, with its log and its requests."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        environment = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=environment)
        self.session = ""
        for _ in range(100):
            try:
                self.call("GET", "/status")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        options = {"binary": shutil.which("chromium") or shutil.which("chromium-browser"),
                   "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--force-device-scale-factor=1", "--window-size=1280,800", "--no-first-run",
                            "--disable-background-networking", f"--user-data-dir={folder}/profile"],
                   "perfLoggingPrefs": {"enableNetwork": True, "enablePage": False}}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = "/session/" + made["sessionId"]
        self.devtools("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError(f"{path}: {value['error']}: {value['message']}") from None

    def post(self, path, **body):
        return self.call("POST", self.session + path, body)

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", cmd=command, params=parameters)

    def open(self, file):
        """Opens the file and waits until the page has read all of its data."""
        self.log(), self.requests()  # what came before
        self.post("/url", url="file://" + file)
        return self.wait("document.documentElement.dataset.complete === 'yes'")

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(f"return {condition}"):
                return True
            time.sleep(0.05)
        return False

    def run(self, script):
        return self.post("/execute/sync", script=script, args=[])

    def find(self, selector):
        return self.post("/element", using="css selector", value=selector)[ELEMENT]

    def click(self, selector):
        self.post(f"/element/{self.find(selector)}/click")

    def type(self, selector, *words):
        """Words, or names of KEYS."""
        text = "".join(KEYS.get(word, word) for word in words)
        self.post(f"/element/{self.find(selector)}/value", text=text)

    def press(self, *keys):
        """To whatever has the focus."""
        steps = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.post("/actions", actions=[{"type": "key", "id": "keys", "actions": steps}])

    def mouse(self, *steps):
        """("move", x, y), "down", "up": in the window."""
        actions = []
        for step in steps:
            if step in ("down", "up"):
                actions.append({"type": "pointer" + step.capitalize(), "button": 0})
            else:
                actions.append({"type": "pointerMove", "duration": 50, "x": int(step[1]), "y": int(step[2])})
        self.post("/actions", actions=[{"type": "pointer", "id": "mouse", "actions": actions}])

    def wheel(self, x, y, by):
        step = {"type": "scroll", "x": int(x), "y": int(y), "deltaX": 0, "deltaY": by, "duration": 0}
        self.post("/actions", actions=[{"type": "wheel", "id": "wheel", "actions": [step]}])

    def prefer(self, scheme):
        """The colours that the system asks for: "dark" or "light"."""
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def unnamed(self):
        """Roles of what a screen reader finds without a name: controls, tables, pictures."""
        named = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "slider", "tab", "radio", "spinbutton",
                 "switch", "menuitem", "listbox", "option", "table", "image", "img", "Canvas", "application"}
        nodes = self.devtools("Accessibility.getFullAXTree")["nodes"]
        return [node["role"]["value"] for node in nodes if not node.get("ignored") and "role" in node
                and node["role"]["value"] in named and not node.get("name", {}).get("value")]

    def log(self):
        """What was written to the console, uncaught errors with it, since the last call."""
        return [entry["message"] for entry in self.post("/se/log", type="browser")]

    def requests(self):
        """Addresses that were asked for since the last call."""
        found = []
        for entry in self.post("/se/log", type="performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", self.session + "/screenshot")))

    def close(self):
        try:
            if self.session:
                self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
