import { pageSizeLimit } from '@headgate/contract';

export interface PageRequest {
  page: number;
  size: number;
}

/** Larger sizes are reduced to the limit, not refused. */
export function computePageBounds({ page, size }: PageRequest): { limit: number; offset: number } {
  const limit = Math.min(size, pageSizeLimit);
  return { limit, offset: page * limit };
}

/** The opaque token for the next page, made from the id or the position of the last item. */
export function makePagingToken(lastId: string): string {
  return Buffer.from(`1:${lastId}`).toString('base64url');
}

/** The id in a token. Undefined for an invalid token. */
export function readPagingToken(token: string): string | undefined {
  const text = Buffer.from(token, 'base64url').toString('utf8');
  return text.startsWith('1:') ? text.slice(2) : undefined;
}
