// "Try it" sends the request of an example to this server and shows the answer below it. The key stays in its field.
const maxShown = 6000;

for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    const { address, output } = form.dataset;
    const shown = document.getElementById(output);
    const key = form.elements.key?.value.trim();
    const began = performance.now();
    let text;
    try {
      const answer = await fetch(address, { headers: key ? { Authorization: `Bearer ${key}` } : {}, cache: "no-cache", credentials: "omit" });
      text = await answer.text();
      if (/json/.test(answer.headers.get("Content-Type"))) text = JSON.stringify(JSON.parse(text), null, 2);
      const cost = answer.headers.get("X-Request-Cost");
      const head = `${answer.status} ${answer.statusText}, ${Math.round(performance.now() - began)} ms${cost ? `, ${cost} USD` : ""}`;
      text = `${head}\n\n${text.length > maxShown ? `${text.slice(0, maxShown)}\n…` : text}`;
    } catch (error) {
      text = form.closest("[data-failed]").dataset.failed.replace("%s", () => error.message);
    }
    shown.textContent = text;
    shown.closest("pre").scrollTop = 0;
  });
}
