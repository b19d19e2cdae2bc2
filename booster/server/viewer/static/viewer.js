// Keeps a page up to date. All HTML comes escaped from the server: when something has happened, this fetches the page again
// and puts what differs in the place of what was there. Nothing here makes markup out of text.

const DEBOUNCE = 250; // ms: many events, one fetch
const SHARE = 4; // a page that took long to fetch is left alone for so many times as long
const POLL = 2000; // ms: while a solve runs, paid calls come and go without an event of their own
const RETRY = { first: 500, most: 8000 }; // ms between attempts where the browser has given up
const AWAY = 3000; // ms between looks whether somebody has signed in
const FOCUSABLE = "a[href], button, summary, [tabindex]";
const WORDS = { live: "live", reconnecting: "reconnecting…", ended: "up to date", away: "signed out: sign in again, in any tab", gone: "deleted" };

const live = document.getElementById("live");
const connection = document.getElementById("connection");
const away = document.getElementById("away");
const announcer = document.getElementById("announcer");

let source = null;
let last = live?.dataset.seq ?? null; // number of the last event seen
let wait = RETRY.first;
let timer = null;
let fetching = false;
let pause = DEBOUNCE;
const served = new Map(); // id of a disclosure -> whether the server last had it open
let ended = false; // the stream has said that there is no more to come
let again = false;

function show(state) {
  if (connection.dataset.state === state) return;
  connection.dataset.state = state;
  connection.textContent = WORDS[state];
  away.hidden = state !== "away";
  away.querySelector("a").href = `/sign-in?next=${location.pathname}`;
  live.classList.toggle("stale", state === "away" || state === "reconnecting");
}

// Refreshing

function refresh(delay = pause) {
  if (fetching) again = true;
  else timer ??= setTimeout(fetchPage, delay);
}

async function fetchPage() {
  timer = null;
  fetching = true;
  const begun = performance.now();
  try {
    const reply = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("live");
    if (fresh) {
      swap(fresh);
      if (source === null) listen();
    } else if (reply.redirected || reply.status === 401) leave("away");
    else if (reply.status === 404) leave("gone");
  } catch {
    show("reconnecting"); // the server is gone; the event stream says when it is back
  }
  fetching = false;
  pause = Math.max(DEBOUNCE, SHARE * (performance.now() - begun));
  if (again) {
    again = false;
    refresh();
  }
}

function leave(state) {
  source?.close();
  source = null;
  show(state);
  if (state === "away") setTimeout(() => refresh(0), AWAY);
}

function swap(fresh) {
  keepOpen(fresh);
  const said = live.querySelector("#said")?.textContent;
  if (said) fresh.querySelector("#said")?.append(said);
  const focus = whereFocusIs();
  const scrolled = new Map([...live.querySelectorAll("[id]")].filter((one) => one.scrollTop).map((one) => [one.id, one.scrollTop]));
  const news = fresh.dataset.announcement;
  const told = live.dataset.announcement;
  reconcile(live, fresh);
  for (const name of Object.keys(fresh.dataset)) live.dataset[name] = fresh.dataset[name];
  for (const [id, top] of scrolled) document.getElementById(id)?.scrollTo({ top, behavior: "instant" });
  focusAgain(focus);
  if (news && news !== told) announcer.textContent = news;
  if (ended && live.dataset.running === "true") listen(); // somebody went on with it
}

// What the reader opened or closed stays so, and what is being read stays open; the rest follows the server.
function keepOpen(fresh) {
  for (const details of fresh.querySelectorAll("details[id]")) {
    const wanted = details.open;
    const before = document.getElementById(details.id);
    if (before && (before.open !== served.get(details.id) || before.matches(":hover, :focus-within"))) details.open = before.open;
    served.set(details.id, wanted);
  }
}

// Elements marked data-parts are taken apart by the ids of their children; every other one is replaced whole where it differs.
function reconcile(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (!("parts" in old.dataset && "parts" in fresh.dataset)) {
    old.replaceWith(fresh);
    return;
  }
  const known = new Map([...old.children].filter((part) => part.id).map((part) => [part.id, part]));
  let here = old.firstElementChild;
  for (const part of [...fresh.children]) {
    const before = known.get(part.id);
    if (!before?.isConnected) {
      old.insertBefore(part, here);
      continue;
    }
    while (here !== before) {
      const gone = here;
      here = here.nextElementSibling;
      gone.remove();
    }
    here = before.nextElementSibling;
    reconcile(before, part);
  }
  while (here) {
    const gone = here;
    here = here.nextElementSibling;
    gone.remove();
  }
}

function whereFocusIs() {
  const active = document.activeElement;
  if (!active || !live.contains(active)) return null;
  const home = active.closest("[id]");
  return { active, home: home.id, place: [home, ...home.querySelectorAll(FOCUSABLE)].indexOf(active) };
}

function focusAgain(focus) {
  if (!focus || focus.active.isConnected) return;
  const home = document.getElementById(focus.home);
  const found = home && [home, ...home.querySelectorAll(FOCUSABLE)][focus.place];
  (found ?? document.getElementById("main")).focus({ preventScroll: true });
}

// Listening

function listen() {
  source?.close();
  ended = false;
  const url = new URL(live.dataset.stream, location.href);
  if (last !== null) url.searchParams.set("after", last);
  source = new EventSource(url);
  const mine = source;
  source.addEventListener("open", () => {
    wait = RETRY.first;
    show("live");
    refresh();
  });
  const happened = (event) => {
    if (event.lastEventId) last = event.lastEventId;
    refresh();
  };
  for (const type of ["message", ...(live.dataset.types ?? "").split(" ").filter(Boolean)]) source.addEventListener(type, happened);
  source.addEventListener("end", () => {
    mine.close();
    ended = true;
    show("ended");
    refresh(0);
  });
  source.addEventListener("error", () => {
    if (mine !== source) return;
    show("reconnecting");
    if (mine.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    refresh(); // says whether we are signed out, or the session is gone
    setTimeout(() => mine === source && listen(), wait);
    wait = Math.min(RETRY.most, 2 * wait);
  });
}

// Acting

async function act(button) {
  if (button.ariaDisabled === "true") return;
  const label = button.textContent;
  const said = document.getElementById("said");
  button.ariaDisabled = "true"; // one that is really disabled would lose the focus
  button.textContent = button.dataset.doing;
  said.textContent = "";
  try {
    const reply = await fetch(button.dataset.post, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: button.dataset.body ?? "{}",
    });
    if (!reply.ok) {
      const document = await reply.json().catch(() => ({}));
      throw new Error(document.error?.message ?? `The server answered ${reply.status}.`);
    }
  } catch (error) {
    said.textContent = error.message;
  }
  button.ariaDisabled = null;
  button.textContent = label;
  refresh(0);
}

// Disclosures that a link inside the page leads to open themselves.
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-post]");
  if (button) act(button);
});
for (const details of document.querySelectorAll("details[id]")) served.set(details.id, details.open);
addEventListener("hashchange", reveal);
reveal();
if (live) {
  listen();
  setInterval(() => live.dataset.running === "true" && source !== null && document.visibilityState === "visible" && refresh(0), POLL);
}
