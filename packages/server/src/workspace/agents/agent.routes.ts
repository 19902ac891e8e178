import { agentStatuses, agentTypes, listAgents } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint.ts';
import { asUuid } from '../../kernel/identifiers.ts';
import { pageBounds } from '../../kernel/paging.ts';
import { invalidRequest, problem } from '../../kernel/problems.ts';
import { wordOf } from '../../kernel/words.ts';
import { agentPage, presentAgent } from './agent.store.ts';

export function agentRoutes({ read }: Endpoints): void {
  read(listAgents, async ({ query, page }) => {
    const { limit, offset } = pageBounds(query);
    const { agentId } = query;
    const id = agentId === undefined ? null : asUuid(agentId);
    const type = filterWord(agentTypes, query.agentType, 'agentType');
    const status = filterWord(agentStatuses, query.agentStatus, 'agentStatus');
    const filters = [type, status, query.name ?? null, id];
    const { rows, total } = await page(agentPage, [...filters, limit, offset]);
    if (total === null) throw problem('agent-not-found', { id: agentId ?? '' });
    return { body: { page: query.page, results: rows.map(presentAgent), size: limit, total } };
  });
}

function filterWord<Word extends string>(
  words: readonly Word[],
  given: string | undefined,
  member: string,
): Word | null {
  if (given === undefined) return null;
  const word = wordOf(words, given);
  if (word !== undefined) return word;
  const detail = `must be one of ${words.join(', ')}`;
  throw invalidRequest([{ field: `query.${member}`, pointer: `/query/${member}`, detail }]);
}
