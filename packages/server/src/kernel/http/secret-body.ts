/** Validates requests whose body holds a secret, without repeating names or values from inside the secret. */
import type { Operation } from '@headgate/contract';
import { Problem, type Violation, withViolations } from './problems.ts';
import { createRequestCheck, type RequestCheck } from './validation.ts';

const notRepeated = 'does not match its schema; details are omitted because it may contain a secret';

/** createRequestCheck for any operation. */
export function createSecretSafeCheck(operation: Operation): RequestCheck {
  const check = createRequestCheck(operation);
  const held = (operation.bodyHoldsSecret ?? []).map((pointer) => `/body${pointer}`);
  if (held.length === 0) return check;
  return (...asked) => {
    try {
      return check(...asked);
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      const redacted = failure.violations.map((violation) => removeSecret(violation, held));
      const once = new Map(
        redacted.map((violation) => [`${violation.pointer} ${violation.detail}`, violation]),
      );
      throw withViolations(failure, [...once.values()]);
    }
  };
}

function removeSecret(violation: Violation, held: readonly string[]): Violation {
  const inside = held.find(
    (pointer) => violation.pointer === pointer || violation.pointer.startsWith(`${pointer}/`),
  );
  if (inside === undefined) return violation;
  return { field: inside.slice(1).replaceAll('/', '.'), pointer: inside, detail: notRepeated };
}
