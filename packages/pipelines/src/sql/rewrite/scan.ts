/** Looks at all tables of a statement beforehand: the columns before FROM refer to them. */

import { findChainEnd, isGroup, isSymbol, isWord, type Node, readChain } from '../tokens/tree.ts';
import { clauseWords } from '../tokens/words.ts';
import type { Frame } from './frame.ts';
import { isInformationSchema } from './information-schema.ts';
import { placeTable } from './table-names.ts';
import { readAlias } from './tables.ts';

const tableWords = new Set(['FROM', 'JOIN', 'INTO', 'UPDATE', 'USING', 'TABLE', 'LATERAL']);

export function scanTables(nodes: readonly Node[], frame: Frame): void {
  let isInFrom = false;
  for (const [index, node] of nodes.entries()) {
    if (node.kind === 'group') scanTables(node.nodes, frame);
    else if (isWord(node, 'FLATTEN') && isGroup(nodes[index + 1])) addFlatten(nodes, index + 2, frame);
    else if (isWord(node, 'TABLE') && isGroup(nodes[index + 1])) {
      const group = nodes[index + 1];
      if (isGroup(group) && isWord(group.nodes[0], 'FLATTEN')) addFlatten(nodes, index + 2, frame);
    } else if ((node.kind === 'word' && tableWords.has(node.value)) || (isInFrom && isSymbol(node, ','))) {
      isInFrom ||= isWord(node, 'FROM', 'JOIN', 'USING');
      addTable(nodes, index + 1, frame);
    } else if (node.kind === 'word' && clauseWords.has(node.value)) isInFrom = false;
  }
}

function addFlatten(nodes: readonly Node[], at: number, frame: Frame): void {
  frame.flattened.add(readAlias(nodes, at).alias.toLowerCase());
}

function addTable(nodes: readonly Node[], at: number, frame: Frame): void {
  const end = findChainEnd(nodes, at);
  const names = readChain(nodes.slice(at, end));
  if (names.length < 2 || names.length > 3 || isGroup(nodes[end])) return;
  if (isInformationSchema(names)) {
    frame.placed.push({ names, place: names.slice(-1) });
    return;
  }
  const { sql, path, reference } = placeTable(names, '', frame, nodes[at]);
  if (sql !== '') frame.placed.push({ names, place: [...path, reference.table] });
}
