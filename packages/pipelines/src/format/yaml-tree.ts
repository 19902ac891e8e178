/**
 * Parses YAML to plain values. Limits protect against hostile files: size, nesting, anchors and aliases, and
 * values after alias expansion. Nesting is checked on the tokens, because the parser is recursive. Duplicate
 * keys are refused.
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
import { explainYaml } from './yaml-faults.ts';

/** A syntax error with its place. Line and column count from 1. */
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
  /** The place of the value at a path of keys, or of its nearest ancestor if there is no such value. */
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
  // The library checks uniqueness in quadratic time, so the converter below does it.
  const document = parseDocument(text, { uniqueKeys: false, lineCounter: lines, prettyErrors: false });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  // A word that begins with ! would be left out.
  const [error = document.warnings.find(({ code }) => code === 'TAG_RESOLVE_FAILED')] = document.errors;
  if (error !== undefined) {
    const [offset] = error.pos;
    const { code, message } = error;
    const explained = explainYaml({ code, message, offset, ...place(offset) }, text);
    throw createYamlError(explained.message, explained);
  }
  const value = createConverter(document, place)(document.contents, 0);
  const offsetOf = createOffsetLookup(document);
  return { value, locate: (path) => place(offsetOf(path)) };
}

function createYamlError(message: string, at: { line: number; column: number }): YamlError {
  return new YamlError(message, at.line, at.column);
}

/**
 * Limits nesting and anchors on the lexer's tokens. Blocks nest by indentation or by indicators on one line
 * (`- - -`), so the indicators of each line are limited. The converter checks the remaining nesting.
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
    if (flowDepth > nestingLimit || indicators > nestingLimit) throw createTooDeepError(line);
    if (anchors > 2 * aliasLimit) throw createAliasError(line);
    const breaks = token.split('\n').length - 1;
    if (breaks > 0) indicators = 0;
    line += breaks;
  }
}

const createTooDeepError = (line: number) =>
  new YamlError(`maps and lists are nested deeper than ${nestingLimit}: flatten them`, line, 1);
const createAliasError = (line: number) =>
  new YamlError(`the file uses more than ${aliasLimit} aliases: write the values out`, line, 1);

function createConverter(document: Document, place: (offset: number) => { line: number; column: number }) {
  let values = 0;
  let aliases = 0;
  const at = (node: { range?: readonly number[] | null } | null) => place(node?.range?.[0] ?? 0);

  function followAlias(alias: Alias, depth: number): Plain {
    aliases += 1;
    if (aliases > aliasLimit) throw createAliasError(at(alias).line);
    const target = alias.resolve(document);
    if (target === undefined)
      throw createYamlError(
        `the alias *${alias.source} has no anchor: put a text that begins with * in quotes, or add &${alias.source}`,
        at(alias),
      );
    return convert(target, depth + 1);
  }

  function convertMap(map: YAMLMap, depth: number): Plain {
    const entries = new Map<string, Plain>();
    for (const { key, value } of map.items) {
      const node = key as Node | null;
      if (!isScalar(node))
        throw createYamlError('a key must be a word, not a list or a map', at(node ?? map));
      const name = readScalar(node);
      if (entries.has(name))
        throw createYamlError(
          `the key "${name}" occurs twice, first in line ${at(findKey(map, name)).line}: rename or remove one of them`,
          at(node),
        );
      entries.set(name, convert(value as Node | null, depth + 1));
    }
    return Object.fromEntries(entries);
  }

  function convert(node: unknown, depth: number): Plain {
    values += 1;
    if (depth > nestingLimit) throw createTooDeepError(at(node as Node).line);
    if (values > valueLimit) {
      throw createYamlError(
        `the file has more than ${valueLimit} values: split it into several pipelines`,
        at(node as Node),
      );
    }
    if (isAlias(node)) return followAlias(node, depth);
    if (isMap(node)) return convertMap(node as YAMLMap, depth);
    if (isSeq(node)) return node.items.map((item) => convert(item, depth + 1));
    if (!isScalar(node)) return null;
    return node.value === null || typeof node.value === 'boolean' ? node.value : readScalar(node);
  }
  return convert;
}

function findKey(map: YAMLMap, name: string): Node | null {
  return (
    map.items.map(({ key }) => key as Node).find((key) => isScalar(key) && readScalar(key) === name) ?? null
  );
}

function readScalar(scalar: { value: unknown; source?: string }): string {
  if (typeof scalar.value === 'string') return scalar.value;
  return scalar.source ?? String(scalar.value);
}

/** Caches the members of each map: a check may look up thousands of places in a large file. */
function createOffsetLookup(document: Document): (path: readonly string[]) => number {
  const gathered = new WeakMap<YAMLMap, Map<string, { key: Node; value: unknown }>>();
  function listMembers(map: YAMLMap) {
    const known = gathered.get(map);
    if (known !== undefined) return known;
    const members = new Map<string, { key: Node; value: unknown }>();
    for (const { key, value } of map.items) if (isScalar(key)) members.set(readScalar(key), { key, value });
    gathered.set(map, members);
    return members;
  }
  return (path) => {
    let node: unknown = document.contents;
    let offset = 0;
    for (const name of path) {
      const member = isMap(node) ? listMembers(node as YAMLMap).get(name) : undefined;
      if (member === undefined) break;
      offset = member.key.range?.[0] ?? offset;
      node = member.value;
    }
    return offset;
  };
}
