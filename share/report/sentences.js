// An explanation as elements: sentences whose tasks, copies and data can be clicked.
//
// {title, sentences: [[text or item, ...], ...], notes: [...], related: [item, ...]}

function reference(view, item) {
  return make(
      "button", {type: "button", class: "ref", onclick: () => chooseItem(view, item, true)},
      itemName(item));
}

function sentenceElement(view, parts) {
  return make(
      "p", {}, parts.map((part) => (typeof part === "object" ? reference(view, part) : part)));
}

function showExplanation(view, explanation) {
  const panel = document.getElementById("explanation");
  if (!panel) return;
  const several = head.runs.length > 1;
  refill(
      panel,
      make("h3", {tabindex: -1}, explanation.title),
      several ? make("p", {class: "muted"}, explanation.run.name) : null,
      explanation.sentences.map((parts) => sentenceElement(view, parts)),
      explanation.more ?? [],
  );
  panel.scrollTop = 0;
  say(`${explanation.title}. ${panel.textContent.slice(explanation.title.length, 400)}`);
}

// "a, b and c"
function listed(items) {
  return items.flatMap(
      (item, i) => (i === 0 ? [item] : [i === items.length - 1 ? " and " : ", ", item]));
}
