// A tour of the service with a client generated from its OpenAPI document: signals, the hash chain recomputed, a free key, picks.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Chain = components["schemas"]["VerificationChain"];
type Problem = components["schemas"]["Problem"];
/** Lists can also be had as CSV; this client asks for JSON. */
type JSONOnly = "application/json" | "application/problem+json";

const baseUrl = process.env["TIDEMARK_URL"] ?? "http://127.0.0.1:8080";
const open = createClient<paths, JSONOnly>({ baseUrl });

/** What an address answered, or an error with what the server says. */
function must<T>(answer: { data?: T; error?: Problem }): T {
  if (answer.data === undefined) throw new Error(`${answer.error?.code}: ${answer.error?.detail}`);
  return answer.data;
}

async function sha256(text: string): Promise<string> {
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Buffer.from(sum).toString("hex");
}

/** Recomputes every link, from the four values that were hashed alone. */
async function verify(chain: Chain): Promise<void> {
  let previous = chain.genesis_hash;
  for (const pick of chain.picks) {
    const hash = await sha256([pick.ticker, pick.price, pick.date, previous].join("|"));
    if (pick.previous_hash !== previous || pick.hash !== hash) throw new Error(`the chain is broken at pick ${pick.seq}`);
    previous = hash;
  }
  if (previous !== chain.head_hash) throw new Error("the head of the chain is another one than the server says");
}

const catalog = must(await open.GET("/api/signals"));
for (const signal of catalog.signals) {
  console.log(`${signal.id}: ${signal.value ?? "unknown"} ${signal.unit}, ${signal.status}`);
}
const history = must(
  await open.GET("/api/signals/{id}/history", { params: { path: { id: "crack-spread-321" }, query: { order: "desc", limit: 2 } } }),
);
for (const point of history.data) console.log(`${point.observed_at}: ${point.value?.toFixed(2) ?? "unknown"} ${history.unit}`);

const chain = must(await open.GET("/api/v1/verify/picks"));
await verify(chain);
console.log(`${chain.picks.length} picks recomputed, the chain holds`);

const registered = must(await open.POST("/api/v1/auth/register", { body: { name: "typescript tour" } }));
const api = createClient<paths, JSONOnly>({ baseUrl, headers: { Authorization: `Bearer ${registered.data.api_key}` } });

const picks = must(await api.GET("/api/v1/picks", { params: { query: { limit: 3 } } }));
for (const pick of picks.data) {
  const returned = pick.return_pct === null ? "unknown" : `${pick.return_pct >= 0 ? "+" : ""}${pick.return_pct.toFixed(2)} %`;
  console.log(`${pick.date} ${pick.ticker} at ${pick.price}: ${returned}`);
}
const ticker = chain.picks.at(-1)?.ticker ?? "NONE";
const research = must(await api.GET("/api/v1/research/{ticker}", { params: { path: { ticker }, query: { lang: "pt" } } }));
console.log(research.data.summary_why);

const unknown = await api.GET("/api/v1/research/{ticker}", { params: { path: { ticker: "NOSUCH" } } });
if (unknown.error?.code !== "unknown_ticker") throw new Error("research about an unknown company");

const account = must(await api.GET("/api/v1/account"));
console.log(`${account.data.balance?.amount ?? "no"} ${account.data.balance?.currency ?? ""} left`);
const ended = await api.DELETE("/api/v1/keys/current");
if (ended.response.status !== 204) throw new Error("the key did not end");
