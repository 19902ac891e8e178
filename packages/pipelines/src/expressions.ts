/**
 * Expressions of tenants, run in QuickJS inside WebAssembly: no host object, no I/O, bounded in time, memory and stack. Each expression has a
 * heap of its own, so nothing passes from one to the next.
 *
 * Globals: every scalar variable by its name; a grid as an object of its columns' values (`grid.column.length`); `sysvar`; and
 * `secret("name")`, see secret-calls.ts. An expression that comes to a secret that is not read yet is given up, and evaluated anew with it:
 * it has no effects, and what it does not come to is not read.
 */
import {
  newQuickJSWASMModule,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSWASMModule,
} from 'quickjs-emscripten';
import {
  expressionBytesLimit,
  expressionMillisecondsLimit,
  expressionResultLimit,
  expressionSourceLimit,
} from './bounds.ts';
import { defineGlobals, type ExpressionScope, explainMember, memberError } from './expression-globals.ts';
import { cannotBeRead, codeOf, compileAll, tooDeep } from './expression-syntax.ts';
import type { SecretSource } from './secret-calls.ts';
import {
  defineSecret,
  noSecrets,
  readWanted,
  type Secrets,
  secretError,
  secretsOf,
} from './secret-function.ts';
import { shorten } from './template.ts';
import { isGrid, missingVariable } from './variables.ts';

/** What an expression yields; an object or a list is its JSON text. */
export type ExpressionValue = string | number | boolean | null;

/** An expression that cannot be read, fails, or breaks a bound; the message says what to do. */
export class ExpressionError extends Error {}

export type { ExpressionScope } from './expression-globals.ts';

export interface ExpressionBounds {
  readonly milliseconds: number;
  readonly bytes: number;
}

export interface ExpressionEngine {
  /** @throws ExpressionError */
  evaluate(expression: string, scope: ExpressionScope): Promise<ExpressionValue>;
  /** What is wrong with the syntax of each; nothing is evaluated. */
  check(expressions: readonly string[]): Promise<(string | undefined)[]>;
}

/** Deep enough for real expressions, and well inside the WebAssembly stack. */
const stackBytes = 256 * 1024;
const identifier = /^\s*([A-Za-z_$][\w$]*)\s*$/;

export function createExpressionEngine(
  bounds: ExpressionBounds = { milliseconds: expressionMillisecondsLimit, bytes: expressionBytesLimit },
  source: SecretSource = noSecrets,
): ExpressionEngine {
  let loading: Promise<QuickJSWASMModule> | undefined;
  return {
    async check(expressions) {
      const found: (string | undefined)[] = [];
      while (found.length < expressions.length) {
        loading ??= newQuickJSWASMModule();
        const limits = { bytes: bounds.bytes, stackBytes };
        const { faults, broken } = compileAll(await loading, limits, expressions.slice(found.length));
        found.push(...faults);
        if (broken) loading = undefined;
      }
      return found;
    },
    async evaluate(expression, scope) {
      if (expression.length > expressionSourceLimit) {
        throw new ExpressionError(
          `an expression is longer than ${expressionSourceLimit} characters: shorten it`,
        );
      }
      const named = scalarNamed(expression, scope);
      if (named !== undefined) return named;
      const secrets = secretsFor(expression, scope, source);
      for (;;) {
        loading ??= newQuickJSWASMModule();
        const result = run(await loading, bounds, expression, scope, secrets);
        if (result.broken) loading = undefined;
        if (secrets.wanted !== undefined) await readWanted(secrets, source);
        else if (result.error !== undefined) throw new ExpressionError(result.error);
        else return result.value;
      }
    },
  };
}

function secretsFor(expression: string, scope: ExpressionScope, source: SecretSource): Secrets {
  const secrets = secretsOf(expression, source);
  if (secrets.names.length > 0 && scope.variables.some(({ name }) => name === 'secret')) {
    throw new ExpressionError(
      'a variable named "secret" is visible here and hides secret("…"): give the variable another name',
    );
  }
  return secrets;
}

/** The value of an expression that is a scalar variable's name, which needs no engine. */
function scalarNamed(expression: string, scope: ExpressionScope): ExpressionValue | undefined {
  const name = identifier.exec(expression)?.[1];
  const value = scope.variables.find((variable) => variable.name === name)?.value;
  return value === undefined || isGrid(value) ? undefined : value;
}

type Result = { broken: boolean } & (
  | { value: ExpressionValue; error?: undefined }
  | { value?: undefined; error: string }
);

function run(
  quickjs: QuickJSWASMModule,
  bounds: ExpressionBounds,
  expression: string,
  scope: ExpressionScope,
  secrets: Secrets,
): Result {
  const started = performance.now();
  const late = () => performance.now() - started > bounds.milliseconds;
  const about = (problem: string) => `${problem}: ${shorten(expression.trim())}`;
  try {
    const runtime = quickjs.newRuntime();
    runtime.setMemoryLimit(bounds.bytes);
    runtime.setMaxStackSize(stackBytes);
    runtime.setInterruptHandler(late);
    const context = runtime.newContext();
    const outcome = evaluateIn(context, expression, scope, secrets);
    context.dispose();
    runtime.dispose();
    if (outcome.error === undefined) return { broken: false, value: outcome.value };
    return {
      broken: false,
      error: about(explain(outcome.error, late() ? bounds.milliseconds : undefined, bounds, scope)),
    };
  } catch (error) {
    // The WebAssembly stack ended before QuickJS's own bound: the instance may be inconsistent and is not used again.
    if (error instanceof ExpressionError) return { broken: true, error: about(error.message) };
    return { broken: true, error: about(tooDeep) };
  }
}

type Outcome =
  | { value: ExpressionValue; error?: undefined }
  | { value?: undefined; error: { name: string; message: string } };

function evaluateIn(
  context: QuickJSContext,
  expression: string,
  scope: ExpressionScope,
  secrets: Secrets,
): Outcome {
  const json = context.getProp(context.global, 'JSON');
  const stringify = context.getProp(json, 'stringify');
  try {
    if (/\bsecret\b/.test(expression)) defineSecret(context, secrets);
    if (!defineGlobals(context, expression, scope))
      throw new ExpressionError(
        'the variables do not fit into the memory of an expression: use smaller ones',
      );
    const result = context.evalCode(codeOf(expression), 'expression', { strict: true });
    if (result.error !== undefined) return { error: readError(context, result.error, secrets) };
    const { value } = result;
    try {
      return toValue(context, value, stringify, secrets);
    } finally {
      value.dispose();
    }
  } finally {
    stringify.dispose();
    json.dispose();
  }
}

function toValue(
  context: QuickJSContext,
  handle: QuickJSHandle,
  stringify: QuickJSHandle,
  secrets: Secrets,
): Outcome {
  const type = context.typeof(handle);
  if (type === 'undefined') return { value: null };
  if (type === 'boolean') return { value: context.dump(handle) as boolean };
  if (type === 'number') return { value: finite(context.getNumber(handle)) };
  if (type === 'string' || type === 'bigint') return text(context.getString(handle));
  if (type !== 'object')
    return { error: { name: 'TypeError', message: `it yields a ${type}, which is no value` } };
  const kind = kindOf(context, handle);
  if (withoutJson.has(kind))
    return { error: { name: 'TypeError', message: `it yields a ${kind}, which is no value` } };
  const json = context.callFunction(stringify, context.undefined, handle);
  if (json.error !== undefined) return { error: readError(context, json.error, secrets) };
  const result = context.typeof(json.value) === 'string' ? context.getString(json.value) : 'null';
  json.value.dispose();
  return result === 'null' ? { value: null } : text(result);
}

/** Objects whose JSON is `{}`, whatever they hold. */
const withoutJson = new Set([
  'Promise',
  'Map',
  'Set',
  'WeakMap',
  'WeakSet',
  'RegExp',
  'Error',
  'Generator',
  'AsyncGenerator',
]);

/** What `Object.prototype.toString` says of an object. */
function kindOf(context: QuickJSContext, handle: QuickJSHandle): string {
  const describing = context.evalCode('(object) => Object.prototype.toString.call(object).slice(8, -1)');
  const describe = context.unwrapResult(describing);
  const described = context.callFunction(describe, context.undefined, handle);
  describe.dispose();
  if (described.error !== undefined) {
    described.error.dispose();
    return '';
  }
  const kind = context.getString(described.value);
  described.value.dispose();
  return kind;
}

function text(value: string): Outcome {
  if (value.length <= expressionResultLimit) return { value };
  return {
    error: { name: 'RangeError', message: `it yields more than ${expressionResultLimit} characters` },
  };
}

function finite(value: number): ExpressionValue {
  return Number.isFinite(value) ? value : String(value);
}

function readError(
  context: QuickJSContext,
  handle: QuickJSHandle,
  { conceal }: Secrets,
): { name: string; message: string } {
  const member = (name: string) => {
    const value = context.getProp(handle, name);
    const result = context.typeof(value) === 'string' ? context.getString(value) : '';
    value.dispose();
    return shorten(conceal(result), 500);
  };
  const error =
    context.typeof(handle) === 'object'
      ? { name: member('name'), message: member('message') }
      : { name: 'Error', message: 'it throws a value' };
  handle.dispose();
  return error;
}

function explain(
  error: { name: string; message: string },
  lateAfter: number | undefined,
  bounds: ExpressionBounds,
  scope: ExpressionScope,
): string {
  if (lateAfter !== undefined || error.message === 'interrupted') {
    return `the expression ran longer than ${bounds.milliseconds} ms (does it loop for ever? do the work in SQL)`;
  }
  if (error.message === 'out of memory') {
    return `the expression needs more than ${bounds.bytes} bytes of memory (do the work in SQL)`;
  }
  if (error.message === 'stack overflow') return tooDeep;
  const unknown = /^'?([\w$]+)'? is not defined$/.exec(error.message)?.[1];
  if (error.name === 'ReferenceError' && unknown !== undefined) {
    const known = scope.variables.map((variable) => variable.name).slice(0, 20);
    const names = known.length === 0 ? 'none is visible here' : `visible here: ${known.join(', ')}`;
    return `${missingVariable(unknown)}, or quote it if it is a text (${names}). Expression`;
  }
  if (error.name === secretError) return error.message;
  if (error.name === memberError) return explainMember(error.message, scope);
  if (error.name === 'SyntaxError') return cannotBeRead(error.message);
  return `the expression fails (${error.name}: ${error.message})`;
}
