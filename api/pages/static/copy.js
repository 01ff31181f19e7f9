// Adds a button that copies to each command, key, hash and address. It stands in room that the style sheet keeps free, so nothing moves.
const { copy, copied, selected } = document.body.dataset;

function button(element) {
  const b = document.createElement("button");
  b.type = "button";
  b.className = "copy";
  b.textContent = copy;
  let reset;
  const say = (label, ms) => {
    b.textContent = label;
    clearTimeout(reset);
    reset = setTimeout(() => { b.textContent = copy; }, ms);
  };
  b.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(element.innerText.trim());
      say(copied, 2000);
    } catch { // the browser or its settings refuse it
      getSelection().selectAllChildren(element);
      say(selected, 8000);
    }
  });
  return b;
}

if (navigator.clipboard) {
  for (const pre of document.querySelectorAll("pre")) {
    const box = document.createElement("div");
    box.className = "copybox";
    pre.replaceWith(box);
    box.append(pre, button(pre));
  }
  for (const hash of document.querySelectorAll(".hash:not(td, table .hash)")) {
    if (!hash.id && hash.textContent.endsWith("…")) continue; // only its beginning is shown
    const text = document.createElement("span");
    text.append(...hash.childNodes);
    if (hash.id) { text.id = hash.id; hash.removeAttribute("id"); } // a script may fill it in later
    hash.classList.add("copyable");
    hash.append(text, button(text));
  }
}
