/** Validates requests whose body holds a secret, without repeating names or values from inside the secret. */
import type { Operation } from '@headgate/contract';
import { Problem, type Violation, withViolations } from './problems.ts';
import { createRequestCheck, type RequestCheck } from './validation.ts';

const notRepeated = 'details are omitted because it may contain a secret';

/** What the schema at the pointer takes, in a word that says nothing about the value. */
function describeShape(schema: unknown, pointer: string): string {
  let at = schema as { type?: string; properties?: Record<string, typeof at> } | undefined;
  for (const name of pointer.split('/').slice(1)) at = at?.properties?.[name];
  return at?.type === 'object' ? 'an object whose members are strings' : 'a string within its limits';
}

/** createRequestCheck for any operation. */
export function createSecretSafeCheck(operation: Operation): RequestCheck {
  const check = createRequestCheck(operation);
  const held = (operation.bodyHoldsSecret ?? []).map((pointer) => `/body${pointer}`);
  if (held.length === 0) return check;
  return (...requests) => {
    try {
      return check(...requests);
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      const redacted = failure.violations.map((violation) => removeSecret(violation, held, operation));
      const once = new Map(
        redacted.map((violation) => [`${violation.pointer} ${violation.detail}`, violation]),
      );
      throw withViolations(failure, [...once.values()]);
    }
  };
}

function removeSecret(violation: Violation, held: readonly string[], { body }: Operation): Violation {
  const inside = held.find(
    (pointer) => violation.pointer === pointer || violation.pointer.startsWith(`${pointer}/`),
  );
  if (inside === undefined) return violation;
  const shape = describeShape(body, inside.slice('/body'.length));
  const detail = `must be ${shape}, as the reference says; ${notRepeated}`;
  return { field: inside.slice(1).replaceAll('/', '.'), pointer: inside, detail };
}
