/** Problems and events of enterprise OAuth connections. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const enterpriseOauthOutcomes = {
  events: ['enterprise-oauth-created', 'enterprise-oauth-updated', 'enterprise-oauth-deleted'],
  problems: {
    'enterprise-oauth-not-found': kind<{ id: string }>(
      404,
      'The account has no such enterprise OAuth connection.',
      ({ id }) => `There is no enterprise OAuth connection ${id}.`,
    ),
    'unknown-enterprise-oauth': kind<{ id: string }>(
      422,
      'The body names an enterprise OAuth connection that the account does not have, or that is not shared with the project.',
      ({ id }) =>
        `The project can use no enterprise OAuth connection ${id}. If there is one, ask a Super Admin or Admin to add the project to its \`projects\`.`,
    ),
    'enterprise-oauth-name-taken': kind<{ name: string }>(
      409,
      'The account already has an enterprise OAuth connection of this name.',
      ({ name }) => `An enterprise OAuth connection ${quoted(name)} already exists in the account.`,
    ),
    'enterprise-oauth-in-use': kind<{ projects: readonly string[]; total: number }>(
      409,
      'Projects use the enterprise OAuth connection. Give their repositories another credential first.',
      ({ projects, total }) =>
        `${total} ${total === 1 ? 'project uses' : 'projects use'} the connection: ${projects.map(quoted).join(', ')}${total > projects.length ? ', …' : ''}. Give their repositories another credential first.`,
    ),
    'enterprise-oauth-unusable': kind<{ reason: string }>(
      422,
      'A member of the connection is missing, cannot be read, or has no use for its provider.',
      ({ reason }) => reason,
    ),
    'too-many-enterprise-oauths': kind<{ limit: number }>(
      409,
      'The account has as many enterprise OAuth connections as it may have. Delete one.',
      ({ limit }) =>
        `The account has ${limit} enterprise OAuth connections, the most that an account may have; delete one first.`,
    ),
  },
} as const satisfies Outcomes;
