// Shows the mails that the sandbox received. Received content is inserted as text, never as markup.
"use strict";

const MAIL_LIMIT = 100;
const find = (id) => document.getElementById(id);
const part = (root, name) => root.querySelector("." + name);
const exact = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
let last = 0;

// Appends text with links. Only http and https addresses become links.
function write(element, text) {
  for (const piece of text.split(/(https?:\/\/\S+)/)) {
    let url = null;
    try { if (/^https?:/.test(piece)) url = new URL(piece); } catch { /* An invalid address stays text. */ }
    if (!url) { element.append(piece); continue; }
    const link = document.createElement("a");
    link.href = url.href;
    link.textContent = piece;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    element.append(link);
  }
}

function show(mail) {
  find("empty").hidden = true;
  const card = find("mail").content.firstElementChild.cloneNode(true);
  part(card, "subject").textContent = mail.subject;
  part(card, "receiver").textContent = mail.receiver;
  part(card, "when").dateTime = mail.receivedAt;
  part(card, "when").textContent = exact.format(new Date(mail.receivedAt));
  if (mail.copies > 1) part(card, "copies").textContent = "· received " + mail.copies + " times";
  write(part(card, "text"), mail.text.trim());
  part(card, "raw").textContent = mail.raw;
  const list = find("mails");
  list.prepend(card);
  while (list.children.length > MAIL_LIMIT) list.lastElementChild.remove();
}

async function poll() {
  try {
    const { mails } = await (await fetch("/sandbox/mails?after=" + last)).json();
    for (const mail of mails) { last = mail.number; show(mail); }
    find("state").dataset.state = "live";
    find("state").textContent = "live";
  } catch {
    find("state").dataset.state = "lost";
    find("state").textContent = "sandbox unavailable";
  }
  setTimeout(poll, 1000);
}

find("clear").addEventListener("click", async () => {
  await fetch("/sandbox/mails", { method: "DELETE" });
  find("mails").replaceChildren();
  find("empty").hidden = false;
});
poll();
