// @ts-nocheck: this runs in a browser; the types of this checkout are those of Node.
// What the page can do beyond being read: search, the scheme, copying, and marking where one is. Without it everything is there all the same.

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
  setUpScheme(document.querySelector('#scheme'));
  const contents = setUpContents(document.querySelector('#contents-button'));
  const search = setUpSearch(document.querySelector('#search'));
  setUpKeys(search, contents);
  markPlace();
  offerCopies();
});

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
  const links = new Map(
    [...document.querySelectorAll('#contents li a')].map((link) => [link.hash.slice(1), link]),
  );
  const sections = [...document.querySelectorAll('section')].map((element) => ({
    element,
    item: links.get(element.id).parentElement,
    title: `${element.querySelector('h2, h3').textContent} ${element.id}`.toLowerCase(),
    text: `${element.textContent} ${element.id}`.toLowerCase(),
  }));
  const found = document.querySelector('#found');

  function run() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { element, item, text } of sections) {
      const matches = words.every((word) => text.includes(word));
      element.hidden = item.hidden = !matches;
      if (matches) count++;
    }
    for (const [areas, part] of [
      ['#contents .area', 'li'],
      ['main .area', 'section'],
    ]) {
      for (const area of document.querySelectorAll(areas)) {
        area.hidden = area.querySelector(`${part}:not([hidden])`) === null;
      }
    }
    found.textContent = words.length === 0 ? '' : `${count === 0 ? 'Nothing' : count} found`;
    if (words.length > 0) scrollTo(0, 0);
  }

  function clear() {
    input.value = '';
    run();
  }

  /** The link of what fits best: by its title, else the first that is left. */
  function best() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const left = sections.filter(({ element }) => !element.hidden);
    const fitting = left.find(({ title }) => words.every((word) => title.includes(word))) ?? left[0];
    return fitting?.item.querySelector('a');
  }

  input.addEventListener('input', run);
  // A link from within the page to what the search has put aside.
  addEventListener('hashchange', () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.closest('[hidden]')) {
      clear();
      target.scrollIntoView();
    }
  });
  input.disabled = false;
  return { input, clear, best };
}

function setUpKeys({ input, clear, best }, contents) {
  const visible = () => [...document.querySelectorAll('#contents li:not([hidden]) a')];
  document.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = document.activeElement;
    if (event.key === '/' && at !== input) {
      event.preventDefault();
      input.select();
      input.focus();
    } else if (event.key === 'Escape') {
      if (at === input || input.value !== '') clear();
      contents.open(false);
    } else if (event.key === 'Enter' && at === input) {
      contents.open(false);
      best()?.click();
      best()?.focus();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const list = visible();
      const index = at === input ? -1 : list.indexOf(at);
      if (at !== input && index < 0) return;
      event.preventDefault();
      const next = index + (event.key === 'ArrowDown' ? 1 : -1);
      (next < 0 ? input : list[Math.min(next, list.length - 1)])?.focus();
    }
  });
}

/** Marks in the contents what is being read. */
function markPlace() {
  const links = new Map([...document.querySelectorAll('#contents li a')].map((link) => [link.hash, link]));
  let current;
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        const link = links.get(`#${target.id}`);
        if (!isIntersecting || link === current) continue;
        current?.removeAttribute('aria-current');
        link.setAttribute('aria-current', 'location');
        current = link;
        if (!link.matches(':focus')) showInContents(link);
      }
    },
    { rootMargin: '-15% 0px -80% 0px' },
  );
  for (const section of document.querySelectorAll('section')) seen.observe(section);
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
