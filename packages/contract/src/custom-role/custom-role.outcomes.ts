/** Problems and events of custom roles. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const customRoleOutcomes = {
  events: ['custom-role-created', 'custom-role-updated', 'custom-role-deleted'],
  problems: {
    'custom-role-not-found': kind<{ name: string }>(
      404,
      'The account has no such custom role.',
      ({ name }) => `There is no custom role ${quoted(name)}.`,
    ),
    'custom-role-name-taken': kind<{ name: string }>(
      409,
      'The account has another custom role with this name, or it is the name of a built-in role.',
      ({ name }) => `There is a role ${quoted(name)} already; choose another name.`,
    ),
    'custom-role-in-use': kind<{ places: readonly string[] }>(
      409,
      'The custom role is granted.',
      ({ places }) => `The role is granted to ${places.join(', ')}. Take it from them first.`,
    ),
    'too-many-custom-roles': kind<{ limit: number }>(
      409,
      'The account has as many custom roles as it can have.',
      ({ limit }) => `An account has at most ${limit} custom roles; delete one first.`,
    ),
    'unfit-permissions': kind<{ level: string; unfit: readonly string[]; allowed: readonly string[] }>(
      422,
      'A role of the level cannot give one of the permissions.',
      ({ level, unfit, allowed }) =>
        `body.permissions: a role of the level ${level} cannot give ${unfit.join(', ')}; it can give ${allowed.join(', ')}.`,
    ),
    'permissions-not-held': kind<{ lacking: readonly string[] }>(
      403,
      'The role gives a permission that the caller does not have.',
      ({ lacking }) => `You do not have ${lacking.join(', ')} there, so you cannot give it to others.`,
    ),
  },
} as const satisfies Outcomes;
