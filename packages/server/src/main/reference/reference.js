// @ts-nocheck: this runs in a browser; the types of this checkout are those of Node.
// What a page can do beyond being read: search, the scheme, copying, and marking where one is. Without it everything is
// there all the same.

const root = document.documentElement;
root.classList.add('scripted');
const dark = matchMedia('(prefers-color-scheme: dark)');

/** A browser may refuse to keep anything. */
const kept = {
  get: () => {
    try {
      return localStorage.getItem('scheme');
    } catch {
      return null;
    }
  },
  set: (scheme) => {
    try {
      if (scheme === null) localStorage.removeItem('scheme');
      else localStorage.setItem('scheme', scheme);
    } catch {}
  },
};

// Before anything is painted.
const chosen = kept.get();
if (chosen === 'light' || chosen === 'dark') root.dataset.scheme = chosen;

document.addEventListener('DOMContentLoaded', () => {
  if (goOn()) return;
  setUpScheme(document.querySelector('#scheme'));
  const contents = setUpContents(document.querySelector('#contents-button'));
  const search = setUpSearch(document.querySelector('#search'));
  setUpKeys(search, contents);
  markPlace();
  offerCopies();
});

/** Links to operations were once places on the start page. */
function goOn() {
  if (location.hash === '' || document.getElementById(location.hash.slice(1)) !== null) return false;
  const link = document.querySelector(`.operations a[href$="${CSS.escape(location.hash)}"]`);
  if (link !== null) location.replace(link.href);
  return link !== null;
}

function setUpScheme(button) {
  const system = () => (dark.matches ? 'dark' : 'light');
  const current = () => root.dataset.scheme ?? system();
  const show = () => {
    button.textContent = current() === 'dark' ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Switch to the ${current() === 'dark' ? 'light' : 'dark'} scheme`);
  };
  button.addEventListener('click', () => {
    const next = current() === 'dark' ? 'light' : 'dark';
    if (next === system()) delete root.dataset.scheme;
    else root.dataset.scheme = next;
    kept.set(root.dataset.scheme ?? null);
    show();
  });
  dark.addEventListener('change', show);
  show();
  button.hidden = false;
}

/** On a narrow screen the list of contents opens over the page. */
function setUpContents(button) {
  const open = (wanted) => {
    root.classList.toggle('contents-open', wanted);
    button.setAttribute('aria-expanded', String(wanted));
  };
  button.addEventListener('click', () => open(!root.classList.contains('contents-open')));
  document.querySelector('#contents').addEventListener('click', (event) => {
    if (event.target.closest('a')) open(false);
  });
  button.hidden = false;
  return { open };
}

function setUpSearch(input) {
  const panel = document.querySelector('#results');
  const list = panel.querySelector('ul');
  const found = document.querySelector('#found');
  const folder = new URL(root.dataset.root, location.href);
  const most = 30;
  let loading;

  /** The index is loaded when somebody searches. */
  async function load() {
    const [{ default: MiniSearch }, answer] = await Promise.all([
      import('./minisearch.js'),
      fetch(new URL('search.json', folder)),
    ]);
    const { options, index } = await answer.json();
    return MiniSearch.loadJS(index, options);
  }

  function getIndex() {
    loading ??= load().catch((failure) => {
      loading = undefined;
      throw failure;
    });
    return loading;
  }

  const searching = {
    boost: { title: 4, place: 1.5 },
    prefix: (term) => term.length > 1,
    combineWith: 'AND',
  };

  function find(index, words) {
    const exact = index.search(words, searching);
    return exact.length > 0 ? exact : index.search(words, { ...searching, fuzzy: 0.2 });
  }

  async function run() {
    const words = input.value.trim();
    if (words === '') return clear();
    const index = await getIndex().catch(() => undefined);
    // Typed on meanwhile.
    if (words !== input.value.trim()) return;
    const results = index === undefined ? [] : find(index, words);
    list.replaceChildren(...results.slice(0, most).map(renderResult));
    const count = results.length;
    found.textContent =
      index === undefined ? 'The search cannot be loaded.' : `${count === 0 ? 'Nothing' : count} found`;
    panel.hidden = false;
  }

  function renderResult({ title, place, path }) {
    const item = document.createElement('li');
    const link = document.createElement('a');
    link.href = new URL(path, folder);
    link.textContent = title;
    if (place !== '') {
      const note = document.createElement('span');
      note.textContent = place;
      link.append(' ', note);
    }
    item.append(link);
    return item;
  }

  function clear() {
    input.value = '';
    found.textContent = '';
    list.replaceChildren();
    panel.hidden = true;
  }

  input.addEventListener('focus', () => getIndex().catch(() => undefined), { once: true });
  input.addEventListener('input', run);
  list.addEventListener('click', (event) => {
    if (event.target.closest('a')) clear();
  });
  document.addEventListener('click', (event) => {
    if (!event.target.closest('.search')) panel.hidden = true;
  });
  input.disabled = false;
  return { input, clear, isOpen: () => !panel.hidden, listLinks: () => [...list.querySelectorAll('a')] };
}

function setUpKeys({ input, clear, isOpen, listLinks }, contents) {
  document.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = document.activeElement;
    if (event.key === '/' && at !== input) {
      event.preventDefault();
      input.select();
      input.focus();
    } else if (event.key === 'Escape') {
      if (isOpen()) input.focus();
      clear();
      contents.open(false);
    } else if (event.key === 'Enter' && at === input) {
      contents.open(false);
      listLinks()[0]?.click();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const links = listLinks();
      const index = at === input ? -1 : links.indexOf(at);
      if (at !== input && index < 0) return;
      event.preventDefault();
      const next = index + (event.key === 'ArrowDown' ? 1 : -1);
      (next < 0 ? input : links[Math.min(next, links.length - 1)])?.focus();
    }
  });
}

/** Marks in the contents what is being read. */
function markPlace() {
  const own = document.querySelectorAll('#contents li li a');
  const links = new Map([...own].map((link) => [link.hash, link]));
  let current;
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        const link = links.get(`#${target.id}`);
        if (!isIntersecting || link === undefined || link === current) continue;
        current?.removeAttribute('aria-current');
        link.setAttribute('aria-current', 'location');
        current = link;
        if (!link.matches(':focus')) showInContents(link);
      }
    },
    { rootMargin: '-15% 0px -80% 0px' },
  );
  for (const place of document.querySelectorAll('section, .guide h2')) seen.observe(place);
}

/** Only the list moves; the page is being read. */
function showInContents(link) {
  const list = document.querySelector('#contents');
  const [at, frame] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
  if (at.top < frame.top) list.scrollTop -= frame.top - at.top + 40;
  else if (at.bottom > frame.bottom) list.scrollTop += at.bottom - frame.bottom + 40;
}

/** A browser allows it only to pages by TLS or from this machine. */
function offerCopies() {
  if (!navigator.clipboard) return;
  for (const figure of document.querySelectorAll('figure:has(pre)')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(figure.querySelector('pre').textContent);
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 1_500);
    });
    figure.append(button);
  }
}
