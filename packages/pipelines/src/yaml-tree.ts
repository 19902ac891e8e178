/**
 * YAML text to plain values, with the bounds that keep a hostile file harmless: size, nesting (checked on the
 * tokens, before the recursive parser sees them), anchors and aliases, values after aliases are followed.
 * Duplicate keys are refused.
 */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import { aliasLimit, fileBytesLimit, nestingLimit, valueLimit } from './bounds.ts';
import type { Plain } from './pipeline.ts';

/** A place in the text that cannot be read; line and column count from 1. */
export class YamlError extends Error {
  readonly line: number;
  readonly column: number;
  constructor(message: string, line: number, column: number) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

export interface YamlTree {
  value: Plain;
  /** Where the value at a path of keys begins; the nearest ancestor when there is none. */
  locate(path: readonly string[]): { line: number; column: number };
}

/** @throws YamlError */
export function readYaml(text: string): YamlTree {
  if (text.length > fileBytesLimit || new TextEncoder().encode(text).length > fileBytesLimit) {
    throw new YamlError(
      `the file is larger than ${fileBytesLimit} bytes: split it into several pipelines`,
      1,
      1,
    );
  }
  checkTokens(text);
  const lines = new LineCounter();
  // Uniqueness is checked below: the library compares each key with each other one.
  const document = parseDocument(text, { uniqueKeys: false, lineCounter: lines, prettyErrors: false });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const [error] = document.errors;
  if (error !== undefined) throw yamlError(error.message, place(error.pos[0]));
  const value = createConverter(document, place)(document.contents, 0);
  const offsetOf = createOffsets(document);
  return { value, locate: (path) => place(offsetOf(path)) };
}

function yamlError(message: string, at: { line: number; column: number }): YamlError {
  return new YamlError(message, at.line, at.column);
}

/**
 * Nesting and anchors, counted on the lexer's tokens. Blocks nest by indentation or by indicators on one line
 * (`- - -`), so a line may hold only so many of them; what is left is bounded again while converting.
 */
function checkTokens(text: string): void {
  let line = 1;
  let flowDepth = 0;
  let indicators = 0;
  let anchors = 0;
  for (const token of new Lexer().lex(text)) {
    const first = token[0];
    if (first === '[' || first === '{') flowDepth += 1;
    else if (first === ']' || first === '}') flowDepth -= 1;
    else if (first === '&' || first === '*') anchors += 1;
    else if (token === '-' || token === '?') indicators += 1;
    if (flowDepth > nestingLimit || indicators > nestingLimit) throw tooDeep(line);
    if (anchors > 2 * aliasLimit) throw tooManyAliases(line);
    const breaks = token.split('\n').length - 1;
    if (breaks > 0) indicators = 0;
    line += breaks;
  }
}

const tooDeep = (line: number) =>
  new YamlError(`maps and lists are nested deeper than ${nestingLimit}: flatten them`, line, 1);
const tooManyAliases = (line: number) =>
  new YamlError(`the file uses more than ${aliasLimit} aliases: write the values out`, line, 1);

function createConverter(document: Document, place: (offset: number) => { line: number; column: number }) {
  let values = 0;
  let aliases = 0;
  const at = (node: { range?: readonly number[] | null } | null) => place(node?.range?.[0] ?? 0);

  function follow(alias: Alias, depth: number): Plain {
    aliases += 1;
    if (aliases > aliasLimit) throw tooManyAliases(at(alias).line);
    const target = alias.resolve(document);
    if (target === undefined) throw yamlError(`the alias *${alias.source} has no anchor`, at(alias));
    return convert(target, depth + 1);
  }

  function convertMap(map: YAMLMap, depth: number): Plain {
    const entries = new Map<string, Plain>();
    for (const { key, value } of map.items) {
      const node = key as Node | null;
      if (!isScalar(node)) throw yamlError('a key must be a word, not a list or a map', at(node ?? map));
      const name = scalarText(node);
      if (entries.has(name)) throw yamlError(`the key "${name}" is there twice: keep one of them`, at(node));
      entries.set(name, convert(value as Node | null, depth + 1));
    }
    return Object.fromEntries(entries);
  }

  function convert(node: unknown, depth: number): Plain {
    values += 1;
    if (depth > nestingLimit) throw tooDeep(at(node as Node).line);
    if (values > valueLimit) {
      throw yamlError(
        `the file holds more than ${valueLimit} values: split it into several pipelines`,
        at(node as Node),
      );
    }
    if (isAlias(node)) return follow(node, depth);
    if (isMap(node)) return convertMap(node as YAMLMap, depth);
    if (isSeq(node)) return node.items.map((item) => convert(item, depth + 1));
    if (!isScalar(node)) return null;
    return node.value === null || typeof node.value === 'boolean' ? node.value : scalarText(node);
  }
  return convert;
}

function scalarText(scalar: { value: unknown; source?: string }): string {
  if (typeof scalar.value === 'string') return scalar.value;
  return scalar.source ?? String(scalar.value);
}

/** The members of a map are gathered once: a large file may be asked for thousands of places. */
function createOffsets(document: Document): (path: readonly string[]) => number {
  const gathered = new WeakMap<YAMLMap, Map<string, { key: Node; value: unknown }>>();
  function membersOf(map: YAMLMap) {
    const known = gathered.get(map);
    if (known !== undefined) return known;
    const members = new Map<string, { key: Node; value: unknown }>();
    for (const { key, value } of map.items) if (isScalar(key)) members.set(scalarText(key), { key, value });
    gathered.set(map, members);
    return members;
  }
  return (path) => {
    let node: unknown = document.contents;
    let offset = 0;
    for (const name of path) {
      const member = isMap(node) ? membersOf(node as YAMLMap).get(name) : undefined;
      if (member === undefined) break;
      offset = member.key.range?.[0] ?? offset;
      node = member.value;
    }
    return offset;
  };
}
