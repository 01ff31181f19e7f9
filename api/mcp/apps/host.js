// Speaks with the host of an MCP App: JSON-RPC 2.0 in messages to the parent window, as the extension io.modelcontextprotocol/ui has it. The
// frame asks no network: what it shows comes from the host.
const answers = new Map();
const handlers = {};
let requests = 0;
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

// request asks the host. It rejects where the host refuses.
function request(method, params) {
  return new Promise((resolve, reject) => {
    const id = ++requests;
    answers.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  const { id, method, params, result, error } = data;
  if (method !== undefined && id !== undefined) {
    const known = method === "ping" || method === "ui/resource-teardown";
    send(known ? { id, result: {} } : { id, error: { code: -32601, message: `${method} is not served here` } });
  } else if (method !== undefined) {
    handlers[method]?.(params ?? {});
  } else if (answers.has(id)) {
    const { resolve, reject } = answers.get(id);
    answers.delete(id);
    if (error) reject(new Error(error.message)); else resolve(result);
  }
});

let host = {};

// dress takes the host's colours, fonts, theme and language.
function dress({ theme, locale, styles }) {
  const root = document.documentElement;
  if (theme) root.style.colorScheme = theme;
  if (locale) host.locale = locale;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) if (value) root.style.setProperty(name, value);
}
handlers["ui/notifications/host-context-changed"] = dress;

// connect begins. show gets each result of a tool that is not an error; the texts of errors are shown as they are.
async function connect(name, show) {
  handlers["ui/notifications/tool-result"] = (result) => {
    const text = result.content?.find((c) => c.type === "text")?.text;
    if (result.isError || !result.structuredContent) say(text ?? "The tool gave no result.");
    else Promise.resolve(show(result.structuredContent)).catch((e) => say(`This cannot be shown: ${e.message}`));
  };
  handlers["ui/notifications/tool-cancelled"] = () => say("The call was cancelled.");
  const met = await request("ui/initialize", { appInfo: { name, version: "1" }, appCapabilities: {}, protocolVersion: "2026-01-26" });
  host.tools = Boolean(met.hostCapabilities?.serverTools);
  dress(met.hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(() => send({
    method: "ui/notifications/size-changed", params: { width: document.documentElement.scrollWidth, height: Math.ceil(document.body.getBoundingClientRect().height) },
  })).observe(document.body);
}

const main = document.querySelector("main");

// element makes an element with a text, or with children.
function element(name, content = "", attributes = {}) {
  const e = document.createElementNS(name in drawn ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...[content].flat());
  return e;
}
const drawn = { svg: 1, path: 1, line: 1, text: 1, circle: 1, title: 1 };

const say = (text) => main.replaceChildren(element("p", text, { role: "status" }));
