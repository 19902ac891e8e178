import { pageSizeLimit } from '@headgate/contract';

export interface PageRequest {
  page: number;
  size: number;
}

/** decisions.md §2: a larger size is capped, not refused. */
export function computePageBounds({ page, size }: PageRequest): { limit: number; offset: number } {
  const limit = Math.min(size, pageSizeLimit);
  return { limit, offset: page * limit };
}

/** The token of token paging: the id of the last item, opaque to the caller. */
export function makePagingToken(lastId: string): string {
  return Buffer.from(`1:${lastId}`).toString('base64url');
}

/** The id in a token, or undefined when the token is not one of ours. */
export function readPagingToken(token: string): string | undefined {
  const text = Buffer.from(token, 'base64url').toString('utf8');
  return text.startsWith('1:') ? text.slice(2) : undefined;
}
