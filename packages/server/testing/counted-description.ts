/** A number stored in the description of a resource. */
import type { Counted } from './slice-guards.ts';

export const countedDescription: Pick<Counted, 'set' | 'get'> = {
  set: (count) => ({ description: `${count}` }),
  get: (body) => Number(body.description),
};
