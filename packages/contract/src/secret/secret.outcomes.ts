/** Problems and events of writing secrets into vaults. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const secretOutcomes = {
  events: ['secret-write-requested', 'secret-write-claimed', 'secret-write-ended'],
  problems: {
    'agent-not-connected': kind<{ name: string }>(
      409,
      'No instance of the agent with a certificate is connected.',
      ({ name }) =>
        `The agent ${quoted(name)} is not connected, or has no certificate yet: start it, and send the request again.`,
    ),
    'secret-value-incomplete': kind<{ lacks: string }>(
      422,
      'The value lacks members of its type, or the request does not have exactly one of `value` and `sealedValue`.',
      ({ lacks }) => `Nothing was written: ${lacks}`,
    ),
    'sealed-value-refused': kind<{ reason: string }>(
      422,
      'The sealed value has expired, is sealed for another agent, certificate or secret, is not a JWE that the agent can open, or lacks members of its type.',
      ({ reason }) => `body.secret.sealedValue is refused: ${reason}.`,
    ),
    'sealed-value-used': kind(
      409,
      'A sealed value with this `jti` was sent before.',
      () =>
        'This sealed value was sent before, and each one can be written only once: seal the value again with a new `jti`.',
    ),
    'vault-refused': kind<{ reason: string }>(
      502,
      'The vault refused the write or did not respond. `detail` has the reason, for example a missing permission.',
      ({ reason }) => `The secret was not written: ${reason}`,
    ),
    'agent-timeout': kind<{ name: string; seconds: number }>(
      504,
      'The agent did not confirm the write in time. It may still happen.',
      ({ name, seconds }) =>
        `The agent ${quoted(name)} did not confirm the write within ${seconds} s. It may still happen: send the same request with the same Idempotency-Key to get the result.`,
    ),
  },
} as const satisfies Outcomes;
