/** The operations of every resource, in the order of the OpenAPI document. */
import { headings } from './headings.ts';
import type { Operation } from './operation.ts';
import { operationLists } from './resources.list.ts';

const all: readonly Operation[] = operationLists.flat();

export const operations: readonly Operation[] = headings.flatMap((heading) =>
  all.filter(({ tag }) => tag === heading.tag),
);
