/**
 * Evaluates expressions in QuickJS inside WebAssembly, without host objects or I/O, and with limits on time,
 * memory and stack. Each expression gets its own heap, so no state is shared between expressions.
 *
 * Globals: each scalar variable by name; each grid as an object of column values (`grid.column.length`);
 * `sysvar`; and `secret("name")`, see secret-calls.ts. When an expression calls `secret` with a name that was
 * not read yet, evaluation stops, the secret is read, and the expression is evaluated again. This is safe
 * because expressions have no side effects, and it reads only the secrets that are needed.
 */
import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from 'quickjs-emscripten';
import {
  expressionBytesLimit,
  expressionMillisecondsLimit,
  expressionResultLimit,
  expressionSourceLimit,
} from '../format/bounds.ts';
import { shorten } from '../format/template.ts';
import { defineGlobals, type ExpressionScope, explainMember, memberError } from './expression-globals.ts';
import { compileAll, describeUnreadable, tooDeepMessage, wrapExpression } from './expression-syntax.ts';
import { createQuickJs, type QuickJsInstance, type QuickJsSource } from './quickjs-module.ts';
import type { SecretSource } from './secret-calls.ts';
import {
  createSecrets,
  defineSecret,
  noSecrets,
  readWanted,
  type Secrets,
  secretError,
} from './secret-function.ts';
import { describeMissingVariable, isGrid } from './variables.ts';

/** How many times longer than on an idle machine an expression may take on a busy one. */
const mostTimesLonger = 8;

/**
 * Starts the time limit of an expression. It counts the time that this thread had a processor, because an expression
 * must not fail for the load of the machine. The clock bounds it too: a thread that is silent for long is ended.
 */
function startTimeLimit(milliseconds: number): () => boolean {
  const began = performance.now();
  const before = process.threadCpuUsage();
  return () => {
    const passed = performance.now() - began;
    if (passed <= milliseconds) return false;
    if (passed > milliseconds * mostTimesLonger) return true;
    const { user, system } = process.threadCpuUsage(before);
    return user + system > milliseconds * 1_000;
  };
}

/** The result of an expression. An object or a list is returned as its JSON text. */
export type ExpressionValue = string | number | boolean | null;

/** A syntax error, a failure, or an exceeded limit of an expression. The message says what to do. */
export class ExpressionError extends Error {}

export type { ExpressionScope } from './expression-globals.ts';

export interface ExpressionBounds {
  readonly milliseconds: number;
  readonly bytes: number;
}

export interface ExpressionEngine {
  /** @throws ExpressionError */
  evaluate(expression: string, scope: ExpressionScope): Promise<ExpressionValue>;
  /** Returns the syntax error of each expression, or undefined. Nothing is evaluated. */
  check(expressions: readonly string[]): Promise<(string | undefined)[]>;
}

export interface QuickJsOptions {
  /** Default: an instance of its own. */
  create?: QuickJsSource;
  /** Called when an expression made an instance unusable. */
  onBroken?: () => void;
}

/** Enough for real expressions and well below the size of the WebAssembly stack. */
const stackBytes = 256 * 1024;
const identifier = /^\s*([A-Za-z_$][\w$]*)\s*$/;

export function createExpressionEngine(
  bounds: ExpressionBounds = { milliseconds: expressionMillisecondsLimit, bytes: expressionBytesLimit },
  source: SecretSource = noSecrets,
  { create = createQuickJs, onBroken = () => undefined }: QuickJsOptions = {},
): ExpressionEngine {
  let loading: Promise<QuickJsInstance> | undefined;
  async function load(): Promise<QuickJsInstance> {
    loading ??= create();
    const instance = await loading;
    if (!instance.isUsable()) throw new ExpressionError('the run has ended');
    return instance;
  }
  const discard = () => {
    loading = undefined;
    onBroken();
  };
  return {
    async check(expressions) {
      const found: (string | undefined)[] = [];
      while (found.length < expressions.length) {
        const limits = { bytes: bounds.bytes, stackBytes };
        const { quickjs, hasGrown } = await load();
        const { faults, broken } = compileAll(quickjs, limits, expressions.slice(found.length));
        found.push(...faults);
        if (broken || hasGrown()) discard();
      }
      return found;
    },
    async evaluate(expression, scope) {
      if (expression.length > expressionSourceLimit) {
        throw new ExpressionError(
          `the expression has ${expression.length} characters; the limit is ${expressionSourceLimit}: shorten it`,
        );
      }
      const named = findNamedScalar(expression, scope);
      if (named !== undefined) return named;
      const secrets = collectSecrets(expression, scope, source);
      for (;;) {
        const { quickjs, hasGrown } = await load();
        const result = run(quickjs, bounds, expression, scope, secrets);
        // The next expression begins with a small memory again. A host function that finds none writes anywhere.
        if (result.broken || hasGrown()) discard();
        if (secrets.missing !== undefined) await readWanted(secrets, source);
        else if (result.error !== undefined) throw new ExpressionError(result.error);
        else return result.value;
      }
    },
  };
}

function collectSecrets(expression: string, scope: ExpressionScope, source: SecretSource): Secrets {
  const secrets = createSecrets(expression, source);
  if (secrets.names.length > 0 && scope.variables.some(({ name }) => name === 'secret')) {
    throw new ExpressionError(
      'a variable named "secret" hides the function secret("…"): rename the variable',
    );
  }
  return secrets;
}

/** The value of an expression that is only the name of a scalar variable. This needs no engine. */
function findNamedScalar(expression: string, scope: ExpressionScope): ExpressionValue | undefined {
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
  const isLate = startTimeLimit(bounds.milliseconds);
  const addSource = (problem: string) => `${problem}: ${shorten(expression.trim())}`;
  try {
    const runtime = quickjs.newRuntime();
    runtime.setMemoryLimit(bounds.bytes);
    runtime.setMaxStackSize(stackBytes);
    runtime.setInterruptHandler(isLate);
    const context = runtime.newContext();
    const outcome = evaluateIn(context, expression, scope, secrets, isLate);
    context.dispose();
    runtime.dispose();
    if (outcome.error === undefined) return { broken: false, value: outcome.value };
    return {
      broken: false,
      error: addSource(explain(outcome.error, isLate() ? bounds.milliseconds : undefined, bounds, scope)),
    };
  } catch (error) {
    // The WebAssembly stack overflowed before QuickJS's own limit. The instance may be inconsistent: discard
    // it.
    if (error instanceof ExpressionError) return { broken: true, error: addSource(error.message) };
    return { broken: true, error: addSource(tooDeepMessage) };
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
  isLate: () => boolean,
): Outcome {
  const json = context.getProp(context.global, 'JSON');
  const stringify = context.getProp(json, 'stringify');
  try {
    if (/\bsecret\b/.test(expression)) defineSecret(context, secrets);
    if (!defineGlobals(context, expression, scope)) {
      if (isLate()) return { error: { name: 'InternalError', message: 'interrupted' } };
      throw new ExpressionError(
        'the variables do not fit into the memory of an expression: use smaller variables',
      );
    }
    const result = context.evalCode(wrapExpression(expression), 'expression', { strict: true });
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
  if (type === 'number') return { value: toFiniteValue(context.getNumber(handle)) };
  if (type === 'string' || type === 'bigint') return readText(context, handle);
  if (type !== 'object')
    return { error: { name: 'TypeError', message: `the result is a ${type}, which is not a value` } };
  const kind = readKind(context, handle);
  if (withoutJson.has(kind))
    return { error: { name: 'TypeError', message: `the result is a ${kind}, which is not a value` } };
  const json = context.callFunction(stringify, context.undefined, handle);
  if (json.error !== undefined) return { error: readError(context, json.error, secrets) };
  const result: Outcome =
    context.typeof(json.value) === 'string' ? readText(context, json.value) : { value: null };
  json.value.dispose();
  return result.value === 'null' ? { value: null } : result;
}

const outOfMemory = { name: 'InternalError', message: 'out of memory' };

function readText(context: QuickJSContext, handle: QuickJSHandle): Outcome {
  const value = context.getString(handle);
  if (value !== '') return limitText(value);
  // QuickJS gives an empty text if it has no memory for a copy.
  const length = context.getProp(handle, 'length');
  const isEmpty = context.typeof(length) === 'number' && context.getNumber(length) === 0;
  length.dispose();
  return isEmpty ? { value } : { error: outOfMemory };
}

/** Classes whose instances become `{}` in JSON. */
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

/** Returns the class name in `Object.prototype.toString`. */
function readKind(context: QuickJSContext, handle: QuickJSHandle): string {
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

function limitText(value: string): Outcome {
  if (value.length <= expressionResultLimit) return { value };
  return {
    error: { name: 'RangeError', message: `the result has more than ${expressionResultLimit} characters` },
  };
}

function toFiniteValue(value: number): ExpressionValue {
  return Number.isFinite(value) ? value : String(value);
}

function readError(
  context: QuickJSContext,
  handle: QuickJSHandle,
  { conceal }: Secrets,
): { name: string; message: string } {
  const readMember = (name: string) => {
    const value = context.getProp(handle, name);
    const result = context.typeof(value) === 'string' ? context.getString(value) : '';
    value.dispose();
    return shorten(conceal(result), 500);
  };
  // QuickJS throws null if it has no memory for an error.
  const error = context.sameValue(handle, context.null)
    ? outOfMemory
    : context.typeof(handle) === 'object'
      ? { name: readMember('name'), message: readMember('message') }
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
    return `the expression ran longer than ${bounds.milliseconds} ms (check for an endless loop, or do the work in SQL)`;
  }
  if (error.message === outOfMemory.message) {
    return `the expression needs more than ${bounds.bytes} bytes of memory (do the work in SQL)`;
  }
  if (error.message === 'stack overflow') return tooDeepMessage;
  const unknown = /^'?([\w$]+)'? is not defined$/.exec(error.message)?.[1];
  if (error.name === 'ReferenceError' && unknown !== undefined) {
    const known = scope.variables.map((variable) => variable.name).slice(0, 20);
    const names = known.length === 0 ? 'no variable is visible here' : `visible here: ${known.join(', ')}`;
    return `${describeMissingVariable(unknown)}, or quote it if it is a text (${names}). Expression`;
  }
  if (error.name === secretError) return error.message;
  if (error.name === memberError) return explainMember(error.message, scope);
  if (error.name === 'SyntaxError') return describeUnreadable(error.message);
  return `the expression fails (${error.name}: ${error.message})`;
}
