/** Problems and events of alert rules. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const alertRuleOutcomes = {
  events: [
    'alert-rule-created',
    'alert-rule-updated',
    'alert-rule-deleted',
    'alert-raised',
    'alert-mail-failed',
    'alert-mail-limit-reached',
    'mail-recipient-confirmed',
    'mail-recipient-refused',
  ],
  problems: {
    'alert-rule-not-found': kind<{ id: string }>(
      404,
      'The project has no such alert rule.',
      ({ id }) => `There is no alert rule ${id}.`,
    ),
    'alert-rule-name-taken': kind<{ name: string }>(
      409,
      'Another alert rule of the project has this name.',
      ({ name }) => `An alert rule named ${quoted(name)} already exists in this project.`,
    ),
    'too-many-alert-rules': kind<{ limit: number }>(
      409,
      'The project has as many alert rules as it may have.',
      ({ limit }) => `The project has ${limit} alert rules, which is the limit: delete some first.`,
    ),
    'alert-condition': kind<{ member: string; type: string; isMissing: boolean }>(
      422,
      'The condition lacks the number that its type needs, or has one that the type does not use.',
      ({ member, type, isMissing }) =>
        isMissing
          ? `body.condition.${member} is required with the type ${type}, for example 30.`
          : `body.condition.${member} has no meaning with the type ${type}: leave it out.`,
    ),
    'unknown-schedule': kind<{ id: string }>(
      422,
      'The body names a schedule that the project does not have.',
      ({ id }) => `The project has no schedule ${id}.`,
    ),
    'unknown-webhook': kind<{ id: string }>(
      422,
      'The body names a webhook that the account does not have.',
      ({ id }) => `The account has no webhook ${id}.`,
    ),
    'alert-mail-not-configured': kind<{ count: number }>(
      422,
      'The rule has e-mail addresses, but the server has no SMTP settings.',
      ({ count }) =>
        `body.emails has ${count} ${count === 1 ? 'address' : 'addresses'}, but this server sends no e-mail: ` +
        'its operator must set HEADGATE_SMTP_URL and HEADGATE_SMTP_FROM. Or leave out body.emails.',
    ),
  },
} as const satisfies Outcomes;
