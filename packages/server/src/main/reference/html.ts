/** Markup by template: what is put into it is escaped, unless it is markup itself. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | undefined | readonly Part[];

export function html(strings: TemplateStringsArray, ...parts: Part[]): Markup {
  return new Markup(strings.reduce((text, literal, index) => text + written(parts[index - 1]) + literal));
}

function written(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Markup) return part.text;
  if (Array.isArray(part)) return part.map(written).join('');
  return escaped(String(part));
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** A sentence of the contract: what stands between backticks is code. */
export function prose(text: string): Markup[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

/** Code with places to break a long line after slashes. */
export function path(text: string): Markup[] {
  return text.split(/(?<=\/)/).map((part, index) => (index === 0 ? html`${part}` : html`<wbr>${part}`));
}
