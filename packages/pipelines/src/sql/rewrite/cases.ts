/** CASE. As in Snowflake, a result that is a text becomes a number beside one that is written as a number. */

import { alignNumbers } from '../functions/index.ts';
import { isWord, NestingError, type Node } from '../tokens/tree.ts';
import { copyText, type Frame, type Operand } from './frame.ts';

/** CASE in CASE. Each looks for its own END. */
const caseLimit = 200;

export function parseCase(nodes: readonly Node[], at: number, frame: Frame): Operand | undefined {
  let depth = 0;
  for (let index = at; index < nodes.length; index += 1) {
    if (isWord(nodes[index], 'CASE')) depth += 1;
    if (depth > caseLimit) throw new NestingError();
    if (!isWord(nodes[index], 'END')) continue;
    depth -= 1;
    if (depth > 0) continue;
    const [start, end] = [nodes[at] as Node, nodes[index] as Node];
    const inner = nodes.slice(at + 1, index);
    const [first, last] = [inner[0] ?? end, inner.at(-1) ?? start];
    const sql = `${copyText(frame, start.from, first.from)}${renderBranches(inner, frame)}${copyText(frame, last.to, end.to)}`;
    return { sql, next: index + 1, isVariant: 'no' };
  }
  return undefined;
}

interface Part {
  readonly nodes: readonly Node[];
  readonly isResult: boolean;
}

function renderBranches(inner: readonly Node[], frame: Frame): string {
  const parts = splitResults(inner);
  const isNumber = ({ nodes }: Part) =>
    nodes.at(-1)?.kind === 'number' && /^[-+]?\s*[\d.]+$/.test(copyNodesText(nodes, frame));
  const results = parts.filter(({ isResult }) => isResult);
  if (!results.some(isNumber) || results.every(isNumber)) return frame.render.expression(inner, frame);
  const rendered = parts.map(({ nodes }) => frame.render.expression(nodes, frame));
  const aligned = alignNumbers(rendered.filter((_, index) => parts[index]?.isResult)).values();
  let sql = '';
  for (const [index, { nodes, isResult }] of parts.entries()) {
    const before = parts[index - 1]?.nodes.at(-1);
    if (before !== undefined) sql += copyText(frame, before.to, (nodes[0] as Node).from);
    sql += isResult ? aligned.next().value : rendered[index];
  }
  return sql;
}

const copyNodesText = (nodes: readonly Node[], frame: Frame) =>
  copyText(frame, nodes[0]?.from ?? 0, nodes.at(-1)?.to ?? 0);

/** The results after THEN and ELSE, and what stands between them. */
function splitResults(inner: readonly Node[]): Part[] {
  const parts: { nodes: Node[]; isResult: boolean }[] = [];
  let depth = 0;
  let isResult = false;
  for (const node of inner) {
    const isOwn = depth === 0;
    if (isWord(node, 'CASE')) depth += 1;
    else if (isWord(node, 'END')) depth -= 1;
    if (isOwn && isWord(node, 'WHEN', 'ELSE')) isResult = false;
    const last = parts.at(-1);
    if (last?.isResult === isResult) last.nodes.push(node);
    else parts.push({ nodes: [node], isResult });
    if (isOwn && isWord(node, 'THEN', 'ELSE')) isResult = true;
  }
  return parts;
}
