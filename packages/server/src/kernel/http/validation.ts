/** Validates a request against the schemas of its operation, and describes every fault for the caller. */
import type { Operation } from '@headgate/contract';
import { createBodyValidator, faultLimit, type ReadBody, toFault } from './body-reading.ts';
import { type Fault, findFaults } from './faults.ts';
import type { JsonSchema } from './json-schema.ts';
import { tidyMembers, type UnknownMember } from './members.ts';
import { invalidRequest, type Violation } from './problems.ts';
import { compileOnUse, isFormat, textSchemas } from './schemas.ts';
import { findTextFault } from './text-faults.ts';

export interface RequestParts {
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
}

const textParts = ['params', 'query', 'headers'] as const;

/** A member of the request that its operation does not define. */
export interface Ignored {
  field: string;
  near: string | undefined;
}

/**
 * Throws `invalid-request` with the faults of all parts, at most `faultLimit`. Writes defaults and converted
 * values into the parts, and returns the ignored members; if `strict`, each of these is a fault. `body` is
 * the result of the body parser.
 */
export type RequestCheck = (request: RequestParts, body?: ReadBody, strict?: boolean) => readonly Ignored[];

export function createRequestCheck(operation: Operation): RequestCheck {
  const checks = textParts.map((part) => [part, createPartCheck(operation, part)] as const);
  const validateBody = createBodyValidator(operation);
  return (request, body = validateBody(request.body), strict = false) => {
    request.body = body.value;
    const violations: Violation[] = [];
    const ignored: Ignored[] = [];
    const addFaults = (part: string, faults: readonly Fault[], unknown: readonly UnknownMember[]) => {
      for (const { pointer, detail } of faults) violations.push(createViolation(part, pointer, detail));
      for (const { pointer, near } of unknown) {
        if (strict || isDryRun(part, pointer))
          violations.push(createViolation(part, pointer, describeUnknown(near)));
        else ignored.push({ field: renderField(part, pointer), near });
      }
    };
    for (const [part, check] of checks) {
      const { faults, unknown } = check(request[part]);
      addFaults(part, faults, unknown);
    }
    addFaults('body', body.faults, body.unknown);
    if (violations.length > 0) throw invalidRequest(violations.slice(0, faultLimit));
    return ignored;
  };
}

type Checked = Pick<ReadBody, 'faults' | 'unknown'>;
const nothing: Checked = { faults: [], unknown: [] };

function createPartCheck(
  operation: Operation,
  part: (typeof textParts)[number],
): (value: unknown) => Checked {
  const declared = operation[part];
  // A request without a declared query can still have unknown members.
  const schema = (declared ?? { type: 'object', properties: {} }) as JsonSchema;
  const validator = declared && compileOnUse(textSchemas, declared);
  const options = { most: faultLimit, quotes: true, isText: true, isFormat };
  return (value) => {
    // Headers are Latin-1 and may contain anything.
    const fault = part === 'headers' ? undefined : findTextFault(value);
    if (fault !== undefined) return { ...nothing, faults: [fault] };
    const unknown = part === 'query' ? tidyMembers(schema, value, false).unknown : [];
    const validate = validator?.();
    if (validate === undefined || validate(value))
      return unknown.length === 0 ? nothing : { ...nothing, unknown };
    const faults = findFaults(schema, value, options);
    return { unknown, faults: faults.length > 0 ? faults : [toFault(validate.errors?.[0])] };
  };
}

/** Never ignored: who asks for a dry run must not get the change, also where an operation has none. */
function isDryRun(part: string, pointer: string): boolean {
  return part === 'query' && pointer.toLowerCase() === '/dryrun';
}

function describeUnknown(near: string | undefined): string {
  return near === undefined ? 'is unknown; remove it' : `is unknown; did you mean ${near}?`;
}

function renderField(part: string, pointer: string): string {
  const path = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('');
  return `${part}${path}`.slice(0, 1_000);
}

function createViolation(part: string, pointer: string, detail: string): Violation {
  return { field: renderField(part, pointer), pointer: `/${part}${pointer}`.slice(0, 1_000), detail };
}
