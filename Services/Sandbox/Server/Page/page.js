// Shows the notifications that the sandbox accepted, on one phone per device. Received content is inserted as text,
// never as markup.
"use strict";

const PHONES = 24, CARDS = 50;
const SERVICES = { apns: "iPhone · APNs", fcm: "Android · FCM", webpush: "Browser · Web Push" };
const minutes = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const clock = new Intl.DateTimeFormat(undefined, minutes);
const exact = new Intl.DateTimeFormat(undefined, { ...minutes, second: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const phones = new Map();
const find = (id) => document.getElementById(id);
const part = (root, name) => root.querySelector("." + name);

function findOrCreatePhone(notification) {
  const key = [notification.service, notification.environment || "", notification.device].join(" ");
  let phone = phones.get(key);
  if (!phone) {
    phone = find("phone").content.firstElementChild.cloneNode(true);
    phone.dataset.service = notification.service;
    const kind = SERVICES[notification.service] || notification.service;
    part(phone, "service").textContent = notification.environment === "sandbox" ? kind + " (development)" : kind;
    part(phone, "device").textContent = notification.device;
    part(phone, "device").title = notification.device;
    part(phone, "network").textContent = "5G";
    phones.set(key, phone);
    updateClock(phone);
    if (phones.size > PHONES) {
      const [oldest, element] = phones.entries().next().value;
      phones.delete(oldest);
      element.remove();
    }
    find("phones").prepend(phone);
  }
  return phone;
}

function updateClock(phone) {
  const now = new Date();
  part(phone, "clock").textContent = part(phone, "time").textContent = clock.format(now);
  part(phone, "day").textContent = day.format(now);
}

function tag(text, kind) {
  const element = document.createElement("span");
  element.className = kind ? "tag " + kind : "tag";
  element.textContent = text;
  return element;
}

function showImage(image, address) {
  let url;
  try { url = new URL(address); } catch { return; }
  if (!["http:", "https:", "data:"].includes(url.protocol)) return;
  image.referrerPolicy = "no-referrer";
  image.addEventListener("error", () => { image.hidden = true; });
  image.hidden = false;
  image.src = url.href;
}

function show(notification) {
  find("empty").hidden = true;
  const phone = findOrCreatePhone(notification);
  const card = find("notification").content.firstElementChild.cloneNode(true);
  const isQuiet = notification.kind === "background";
  card.classList.toggle("quiet", isQuiet);
  part(card, "title").textContent = notification.title || (isQuiet ? "Background notification" : "");
  part(card, "body").textContent = notification.body || "";
  const time = part(card, "when");
  time.dateTime = notification.acceptedAt;
  time.textContent = exact.format(new Date(notification.acceptedAt));
  const tags = part(card, "tags");
  if (notification.sound) tags.append(tag("♪ " + notification.sound));
  if (notification.badge !== undefined) tags.append(tag("badge " + notification.badge));
  if (notification.url) tags.append(tag("opens " + notification.url));
  if (notification.copies > 1) tags.append(tag("received " + notification.copies + " times", "double"));
  if (notification.image) showImage(part(card, "image"), notification.image);
  part(card, "raw").textContent = JSON.stringify(
    { id: notification.id, headers: notification.headers, payload: notification.payload }, null, 2);
  const list = part(phone, "list");
  list.prepend(card);
  while (list.children.length > CARDS) list.lastElementChild.remove();
  if (notification.badge !== undefined) {
    const badge = part(phone, "badge");
    badge.hidden = notification.badge === 0;
    badge.textContent = String(notification.badge);
  }
}

function setState(name, text) {
  find("state").dataset.state = name;
  find("state").textContent = text;
}

async function count() {
  try {
    const counts = await (await fetch("/sandbox/counts")).json();
    find("accepted").textContent = counts.accepted;
    find("duplicates").textContent = counts.duplicates;
    find("refused").textContent = Object.values(counts.refused).reduce((sum, each) => sum + each, 0);
  } catch { /* The stream's error handler reports an unavailable sandbox. */ }
}

let isCountDue = false;
function countSoon() {
  if (isCountDue) return;
  isCountDue = true;
  setTimeout(() => { isCountDue = false; count(); }, 250);
}

find("clear").addEventListener("click", async () => {
  await fetch("/sandbox/notifications", { method: "DELETE" });
  phones.clear();
  find("phones").replaceChildren();
  find("empty").hidden = false;
  count();
});

const stream = new EventSource("/sandbox/stream?after=0");
stream.addEventListener("open", () => { setState("live", "live"); count(); });
stream.addEventListener("error", () => setState("lost", "sandbox unavailable"));
stream.addEventListener("notification", (event) => { show(JSON.parse(event.data)); countSoon(); });
setInterval(() => phones.forEach(updateClock), 10000);
setInterval(count, 5000);
