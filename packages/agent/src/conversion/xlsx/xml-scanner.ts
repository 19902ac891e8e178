/**
 * Reads XML part by part: the files of a workbook. Entities other than XML's own and character references cannot be
 * declared, so that nothing grows.
 */
import { FileFault } from '../file-fault.ts';

export interface XmlEvents {
  /** @param name without its prefix */
  open(name: string, attributes: ReadonlyMap<string, string>): void;
  close(name: string): void;
  text(text: string): void;
}

/** Characters of a tag, and of a part of a text. */
const tagLimit = 262_144;

export class XmlScanner {
  readonly #events: XmlEvents;
  /** What is not complete yet. */
  #rest = '';

  constructor(events: XmlEvents) {
    this.#events = events;
  }

  feed(part: string): void {
    const xml = this.#rest + part;
    let at = 0;
    while (at < xml.length) {
      const next = xml[at] === '<' ? this.#readMarkup(xml, at) : this.#readText(xml, at);
      if (next === undefined) break;
      at = next;
    }
    this.#rest = xml.slice(at);
    if (this.#rest.length > tagLimit) throw new FileFault('it has a tag of more than 256 KiB');
  }

  end(): void {
    if (this.#rest.trim() !== '') throw new FileFault('a part of it is cut off');
  }

  /** Where the text ends; undefined if an entity is not complete. */
  #readText(xml: string, at: number): number | undefined {
    const tag = xml.indexOf('<', at);
    let end = tag < 0 ? xml.length : tag;
    if (tag < 0) {
      const entity = xml.lastIndexOf('&');
      if (entity >= at && !xml.includes(';', entity)) end = entity;
    }
    if (end === at) return undefined;
    this.#events.text(decodeEntities(xml.slice(at, end)));
    return end;
  }

  /** Where the markup ends; undefined if it is not complete. */
  #readMarkup(xml: string, at: number): number | undefined {
    if (xml.startsWith('<!--', at)) return findAfter(xml, '-->', at + 4);
    if (xml.startsWith('<![CDATA[', at)) {
      const end = findAfter(xml, ']]>', at + 9);
      if (end !== undefined) this.#events.text(xml.slice(at + 9, end - 3));
      return end;
    }
    if (xml.startsWith('<?', at)) return findAfter(xml, '?>', at + 2);
    if ('<!--'.startsWith(xml.slice(at)) || '<![CDATA['.startsWith(xml.slice(at))) return undefined;
    if (xml.startsWith('<!', at)) throw new FileFault('it declares a document type, which is not allowed');
    const end = findTagEnd(xml, at + 1);
    if (end === undefined) return undefined;
    this.#readTag(xml.slice(at + 1, end - 1));
    return end;
  }

  #readTag(tag: string): void {
    if (tag.startsWith('/')) {
      this.#events.close(cutPrefix(tag.slice(1).trim()));
      return;
    }
    const isEmpty = tag.endsWith('/');
    const inside = isEmpty ? tag.slice(0, -1) : tag;
    const blank = inside.search(/\s/);
    const name = cutPrefix(blank < 0 ? inside : inside.slice(0, blank));
    this.#events.open(name, blank < 0 ? new Map() : readAttributes(inside.slice(blank)));
    if (isEmpty) this.#events.close(name);
  }
}

function findAfter(xml: string, mark: string, from: number): number | undefined {
  const found = xml.indexOf(mark, from);
  return found < 0 ? undefined : found + mark.length;
}

/** After the `>` that is not in a quoted value. */
function findTagEnd(xml: string, from: number): number | undefined {
  let quote = '';
  for (let at = from; at < xml.length; at += 1) {
    const character = xml[at] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at + 1;
  }
  return undefined;
}

const cutPrefix = (name: string) => name.slice(name.indexOf(':') + 1);

function readAttributes(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let at = 0;
  while (at < text.length) {
    const equals = text.indexOf('=', at);
    if (equals < 0) break;
    const name = cutPrefix(text.slice(at, equals).trim());
    let from = equals + 1;
    while (text[from] === ' ' || text[from] === '\n' || text[from] === '\t' || text[from] === '\r') from += 1;
    const quote = text[from];
    const end = quote === '"' || quote === "'" ? text.indexOf(quote, from + 1) : -1;
    if (end < 0) throw new FileFault('it has an attribute without quotes');
    found.set(name, decodeEntities(text.slice(from + 1, end)));
    at = end + 1;
  }
  return found;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, word) => {
    if (word !== undefined) return entities[word] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
