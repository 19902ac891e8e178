/** The names of the queries of WITH. */
import { isGroup, isName, isWord, type Node } from '../tokens/tree.ts';

/** In lower case. They are known before the first query, because it may be recursive. */
export function* listCommonTables(nodes: readonly Node[]): Generator<string> {
  for (const [index, node] of nodes.entries())
    if (isGroup(node) && isQueryName(nodes, index)) yield nameBefore(nodes, index);
}

function isQueryName(nodes: readonly Node[], at: number): boolean {
  let index = at - 1;
  if (isWord(nodes[index], 'MATERIALIZED')) index -= isWord(nodes[index - 1], 'NOT') ? 2 : 1;
  return isWord(nodes[index], 'AS') && at > 2;
}

function nameBefore(nodes: readonly Node[], at: number): string {
  let index = at - 1;
  while (index > 0 && isWord(nodes[index], 'AS', 'MATERIALIZED', 'NOT')) index -= 1;
  if (isGroup(nodes[index])) index -= 1;
  const node = nodes[index];
  return isName(node) ? node.value.toLowerCase() : '';
}

/** Whether a query of WITH reads itself behind a UNION: Snowflake does without RECURSIVE. */
export function hasRecursion(nodes: readonly Node[]): boolean {
  return nodes.some((node, at) => {
    if (!isGroup(node) || !isQueryName(nodes, at)) return false;
    const union = node.nodes.findIndex((each) => isWord(each, 'UNION'));
    return union >= 0 && readsTable(node.nodes.slice(union), nameBefore(nodes, at));
  });
}

function readsTable(nodes: readonly Node[], name: string): boolean {
  return nodes.some((node, at) =>
    isGroup(node)
      ? readsTable(node.nodes, name)
      : isName(node) && node.value.toLowerCase() === name && isWord(nodes[at - 1], 'FROM', 'JOIN'),
  );
}
