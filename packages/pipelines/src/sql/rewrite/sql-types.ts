/** Reads a type in a statement, such as `NUMBER(10, 2)`, `DOUBLE PRECISION` or `VARCHAR[]`. */

import { SqlError } from '../dialect/dialect.ts';
import { translateType } from '../functions/types.ts';
import { vendorOf } from '../tokens/names.ts';
import { hasWords, isGroup, isWord, type Node, splitByComma } from '../tokens/tree.ts';
import { copyNodes, copyText, type Frame, refuse } from './frame.ts';

export interface ReadType {
  /** In upper case, without its size. */
  readonly name: string;
  /** What is in parentheses. */
  readonly args: readonly string[];
  readonly sql: string;
  /** The index of the node after it. */
  readonly next: number;
}

const longNames: readonly (readonly string[])[] = [
  ['DOUBLE', 'PRECISION'],
  ['CHARACTER', 'VARYING'],
  ['CHAR', 'VARYING'],
  ['NCHAR', 'VARYING'],
  ['BINARY', 'VARYING'],
];
const zones: readonly (readonly string[])[] = [
  ['WITH', 'LOCAL', 'TIME', 'ZONE'],
  ['WITHOUT', 'TIME', 'ZONE'],
  ['WITH', 'TIME', 'ZONE'],
];

/** Undefined if no type begins at the position. */
export function readType(nodes: readonly Node[], at: number, frame: Frame): ReadType | undefined {
  const first = nodes[at];
  if (first?.kind !== 'word' && first?.kind !== 'quoted') return undefined;
  const long = longNames.find((words) => hasWords(nodes, at, ...words));
  let next = at + (long?.length ?? 1);
  let name = long?.join(' ') ?? first.value.toUpperCase();
  const group = nodes[next];
  let args: string[] = [];
  if (isGroup(group)) {
    args = splitByComma(group.nodes).map((part) => copyNodes(frame, part));
    next += 1;
  }
  const zone = ['TIMESTAMP', 'TIME'].includes(name)
    ? zones.find((words) => hasWords(nodes, next, ...words))
    : undefined;
  if (zone !== undefined) {
    name = `${name} ${zone.join(' ')}`;
    next += zone.length;
  }
  const translated = first.kind === 'quoted' ? undefined : translate(name, args, first, frame);
  const end = nodes[next - 1]?.to ?? first.to;
  const suffixFrom = next;
  while (isGroup(nodes[next], '[')) next += 1;
  const suffix = copyText(frame, end, nodes[next - 1]?.to ?? end);
  const written = copyText(frame, first.from, end);
  if (next === suffixFrom && isWord(nodes[next], 'ARRAY'))
    return { name: `${name}[]`, args, sql: `${translated ?? written}[]`, next: next + 1 };
  return {
    name: `${name}${suffix}`,
    args,
    sql: `${isSameType(translated, written) ? written : translated}${suffix}`,
    next,
  };
}

function isSameType(translated: string | undefined, written: string): boolean {
  return (
    translated === undefined ||
    translated.toUpperCase().replaceAll(' ', '') === written.toUpperCase().replaceAll(/\s/g, '')
  );
}

function translate(name: string, args: readonly string[], node: Node, frame: Frame): string | undefined {
  try {
    return translateType(name, args, vendorOf(frame.script.names));
  } catch (error) {
    if (error instanceof SqlError) refuse(frame, node, error.message);
    throw error;
  }
}
