// Recomputes what get_verification_chain answered, in this frame. Where the answer is a part of the chain, the host is asked for the whole.
const shownLinks = 10;

// whole returns the answer with all picks of the chain, from the first one on.
async function whole(answer) {
  if (answer.next_from_seq === null && (answer.picks.length === 0 || answer.picks[0].seq === 1)) return answer;
  if (!host.tools) throw new Error("the answer is a part of the chain, and this host does not let the frame ask for the rest");
  const picks = [];
  for (let from = 1, last; from !== null;) {
    const { isError, content, structuredContent } = await request("tools/call", { name: "get_verification_chain", arguments: { from_seq: from, limit: 1000 } });
    if (isError || !structuredContent) throw new Error(content?.[0]?.text ?? "the host gave no result");
    if (structuredContent.next_from_seq !== null && !(structuredContent.next_from_seq > from)) throw new Error("the pages of the chain do not end");
    [last, from] = [structuredContent, structuredContent.next_from_seq];
    picks.push(...last.picks);
    answer = { ...last, picks, next_from_seq: null };
  }
  return answer;
}

await connect("tidemark-verifier", async (part) => {
  say("Recomputing the chain.");
  if (!globalThis.crypto?.subtle) return say("This host gives the frame no way to hash, so nothing was checked here.");
  const answer = await whole(part), n = answer.picks.length;
  const result = await verdicts.recompute(answer.picks);
  const now = answer.environment === "demo" ? answer.verified_at : new Date().toISOString(); // a demonstration has a clock of its own
  const { verdict, claim, head, days } = verdicts.judge(answer, result, [], { attester: null, now });
  const list = [element("h1", `Chain of picks: ${verdict === "contradicted" ? "contradicted" : "self-consistent"}`)];
  if (verdict === "contradicted") list[0].className = "wrong";
  if (result.fault) {
    const p = answer.picks[result.fault.seq - 1];
    list.push(element("p", `Pick ${result.fault.seq} (${p.ticker}, ${p.date}): ${result.fault.why}.`, { class: "wrong" }));
  } else {
    list.push(element("p", `${n} ${n === 1 ? "hash" : "hashes"} recomputed in this frame. Each pick names the hash before it, from 64 zeros on.`));
  }
  if (!claim) list.push(element("p", "The chain does not end where the server says.", { class: "wrong" }));
  if (days) list.push(element("p", days, { class: "wrong" }));
  for (const f of answer.seals?.faults ?? []) list.push(element("p", f.text, { class: "wrong" }));
  list.push(element("p", ["The newest hash: ", element("code", head)]));
  list.push(element("p", "No witness was asked here: a chain that was rewritten from its start looks the same. The page /verify and the command tidemark verify ask the witnesses.", { class: "soft" }));
  const rows = answer.picks.map((p, i) => [p, result.hashes[i]]).slice(-shownLinks).reverse().map(([p, hash]) =>
    element("tr", [element("td", String(p.seq)), element("td", p.date), element("td", p.ticker), element("td", p.hash === hash ? "same hash" : "another hash", p.hash === hash ? {} : { class: "wrong" })]));
  list.push(element("table", [element("thead", element("tr", ["Number", "Day", "Ticker", "Recomputed"].map((t) => element("th", t)))), element("tbody", rows)]));
  if (answer.environment === "demo") list.push(element("p", "The server calls itself a demonstration.", { class: "soft" }));
  main.replaceChildren(...list);
});
