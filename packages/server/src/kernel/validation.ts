/** Checks a request against the schemas of its operation, and names every fault in the caller's words. */
import { bodyIsOptional, type Operation } from '@headgate/contract';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { invalidRequest, type Violation } from './problems.ts';

export interface RequestParts {
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
}

const options = {
  allErrors: true,
  useDefaults: true,
  strict: false,
  strictNumbers: true,
  ownProperties: true,
} as const;
/** Of a date-time more is asked than its form: a leap second is one that no clock here knows. */
function formats(ajv: Ajv): Ajv {
  (addFormats as unknown as (ajv: Ajv) => Ajv)(ajv);
  const { validate } = ajv.formats['date-time'] as { validate: (text: string) => boolean };
  return ajv.addFormat('date-time', (text: string) => validate(text) && !Number.isNaN(Date.parse(text)));
}
/** Text from an address or a header is read as what the schema asks for; a body says itself what it is. */
const textual = formats(new Ajv({ ...options, coerceTypes: 'array' }));
const typed = formats(new Ajv(options));

const parts = ['params', 'query', 'headers', 'body'] as const;
type PartName = (typeof parts)[number];

/** A check that throws `invalid-request` with all violations of all parts; defaults, read numbers and a body left out are written into the parts. */
export function requestCheck(operation: Operation): (request: RequestParts) => void {
  const checks: [PartName, ValidateFunction][] = [];
  for (const part of parts) {
    const schema = operation[part];
    if (schema !== undefined) checks.push([part, (part === 'body' ? typed : textual).compile(schema)]);
  }
  const mayBeLeftOut = bodyIsOptional(operation);
  return (request) => {
    if (mayBeLeftOut && request.body === undefined) request.body = {};
    let violations: Violation[] | undefined;
    for (const part of parts) {
      if (part === 'headers') continue;
      const fault = invalidText(request[part]);
      if (fault !== undefined) violations = [...(violations ?? []), at(part, fault.pointer, fault.detail)];
    }
    if (violations !== undefined) throw invalidRequest(violations);
    for (const [part, check] of checks) {
      if (!check(request[part])) {
        violations = [...(violations ?? []), ...violationsOf(part, check.errors ?? [])];
      }
    }
    if (violations !== undefined) throw invalidRequest(violations.slice(0, 1_000));
  };
}

const depthLimit = 64;

/** decisions.md §2: strings are valid Unicode without NUL and lone surrogates; and nothing is nested beyond reading. */
function invalidText(
  value: unknown,
  pointer = '',
  depth = 0,
): { pointer: string; detail: string } | undefined {
  if (typeof value === 'string') {
    if (value.includes('\0')) return { pointer, detail: 'must not contain NUL' };
    return value.isWellFormed() ? undefined : { pointer, detail: 'must not contain a lone surrogate' };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === depthLimit) return { pointer, detail: `must not be nested deeper than ${depthLimit} levels` };
  for (const [key, member] of Object.entries(value)) {
    const fault =
      invalidText(key, pointer) ?? invalidText(member, `${pointer}/${escapePointer(key)}`, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function at(part: string, pointer: string, detail: string): Violation {
  const path = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('');
  return { field: `${part}${path}`.slice(0, 1_000), pointer: `/${part}${pointer}`.slice(0, 1_000), detail };
}

function violationsOf(part: PartName, errors: readonly ErrorObject[]): Violation[] {
  return withoutAlternatives(errors).map((error) => at(part, pointerOf(error), sentence(error)));
}

function pointerOf(error: ErrorObject): string {
  if (error.keyword === 'required')
    return `${error.instancePath}/${escapePointer(String(error.params.missingProperty))}`;
  if (error.keyword === 'propertyNames')
    return `${error.instancePath}/${escapePointer(String(error.params.propertyName))}`;
  return error.instancePath;
}

function sentence(error: ErrorObject): string {
  switch (error.keyword) {
    case 'required':
      return 'is required';
    case 'enum':
      return `must be one of ${(error.params.allowedValues as unknown[]).join(', ')}`;
    case 'type':
      return `must be ${[error.params.type].flat().join(' or ')}`;
    case 'pattern':
      return `must match ${String(error.params.pattern)}`;
    default:
      return error.message ?? `breaks the rule ${error.keyword}`;
  }
}

/** Of a union's branches only the one that came closest is worth telling; where none came close, the types that it accepts. */
function withoutAlternatives(errors: readonly ErrorObject[]): ErrorObject[] {
  const unions = errors.filter((error) => error.keyword === 'anyOf');
  // The outermost first: what is inside it is judged with its branch.
  const union = unions.sort((one, other) => one.schemaPath.length - other.schemaPath.length)[0];
  if (union === undefined) return [...errors];
  const inside = (error: ErrorObject) =>
    error !== union && error.schemaPath.startsWith(`${union.schemaPath}/`);
  const branches = Map.groupBy(
    errors.filter(inside),
    (error) => error.schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0],
  );
  const rest = errors.filter((error) => error !== union && !inside(error));
  const wrongType = (error: ErrorObject) =>
    error.keyword === 'type' && error.instancePath === union.instancePath;
  const close = [...branches.values()].filter((branch) => !branch.some(wrongType));
  const best = close.sort((one, other) => one.length - other.length)[0];
  if (best !== undefined) return [...withoutAlternatives(rest), ...withoutAlternatives(best)];
  const types = [...branches.values()].flat().filter(wrongType);
  const merged = {
    ...union,
    keyword: 'type',
    params: { type: types.map((error) => String(error.params.type)) },
  };
  return [...withoutAlternatives(rest), merged];
}
