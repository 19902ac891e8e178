/**
 * The global names of an expression. Reading an unknown member of `sysvar` or of a grid throws: otherwise a
 * misspelled member would silently become an empty text.
 */
import type { QuickJSContext } from 'quickjs-emscripten';
import { expressionBytesLimit } from '../format/bounds.ts';
import { findNearestName } from '../format/nearest.ts';
import { isGrid, type Variable } from './variables.ts';

export interface ExpressionScope {
  readonly variables: readonly Variable[];
  /** `${sysvar.…}`: maps of texts and numbers. */
  readonly sysvar: Readonly<Record<string, unknown>>;
}

/** The name of the error for an unknown member. Its message is JSON: the object's path and the member. */
export const memberError = 'MemberError';

/** @returns false if the variables do not fit into the memory of an expression. */
export function defineGlobals(context: QuickJSContext, expression: string, scope: ExpressionScope): boolean {
  const { globals, guarded } = collectGlobals(expression, scope);
  if (Object.keys(globals).length === 0) return true;
  const json = JSON.stringify({ globals, guarded });
  // QuickJS needs room for the text and for its values, and does not notice if there is none for the text.
  if (Buffer.byteLength(json) > expressionBytesLimit / 2) return false;
  const text = context.newString(json);
  context.setProp(context.global, '__globals', text);
  text.dispose();
  const result = context.evalCode(guarded.length === 0 ? plainDefinition : definition);
  if (result.error !== undefined) {
    result.error.dispose();
    return false;
  }
  result.value.dispose();
  return true;
}

/** Without a member to guard. Most expressions need no more, and QuickJS compiles it in a third of the time. */
const plainDefinition = `{
  const { JSON, Object } = globalThis;
  const scope = globalThis;
  const { globals } = JSON.parse(__globals);
  delete scope.__globals;
  for (const name of Object.keys(globals))
    Object.defineProperty(scope, name, { value: globals[name], configurable: true, writable: true, enumerable: true });
}`;

// toJSON is allowed because JSON.stringify reads it. The columns of a grid are lists and are not guarded.
const definition = `{
  // A variable may have the name of any of these.
  const { Array, Error, JSON, Object, Proxy, Reflect } = globalThis;
  const scope = globalThis;
  const { globals, guarded } = JSON.parse(__globals);
  delete scope.__globals;
  const { stringify } = JSON;
  const { get } = Reflect;
  const guard = (object, path) => {
    for (const name of Object.keys(object)) {
      const inner = object[name];
      if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) object[name] = guard(inner, [...path, name]);
    }
    return new Proxy(object, {
      get(target, member, receiver) {
        if (typeof member === 'symbol' || member in target || member === 'toJSON') return get(target, member, receiver);
        const error = new Error(stringify([path, member]));
        error.name = '${memberError}';
        throw error;
      },
    });
  };
  for (const name of Object.keys(globals)) {
    const value = guarded.includes(name) ? guard(globals[name], [name]) : globals[name];
    Object.defineProperty(scope, name, { value, configurable: true, writable: true, enumerable: true });
  }
}`;

/** An expression with one of these may read a variable without its name. */
const readsByOtherMeans = /\\|\b(?:globalThis|this|eval|Function|constructor)\b/;

/**
 * A variable becomes a global only if the expression contains its name: a grid may hold thousands of rows, and
 * each object in `sysvar` takes time.
 */
function collectGlobals(expression: string, scope: ExpressionScope) {
  const globals = new Map<string, unknown>();
  const guarded: string[] = [];
  const readsAny = readsByOtherMeans.test(expression);
  for (const { name, value } of scope.variables) {
    const isNamed = expression.includes(name);
    if (!isGrid(value)) {
      if (isNamed || readsAny) globals.set(name, value);
    } else if (isNamed) {
      const columns = value.columns.map((column, index) => [
        column.name,
        value.rows.map((row) => row[index] ?? null),
      ]);
      globals.set(name, Object.fromEntries(columns));
      if (name !== 'sysvar') guarded.push(name);
    }
  }
  if (readsAny || expression.includes('sysvar')) {
    globals.set('sysvar', scope.sysvar);
    guarded.push('sysvar');
  }
  return { globals: Object.fromEntries(globals), guarded };
}

/** Members that only some runs and components have. */
const unsetMembers: ReadonlyMap<string, string> = new Map([
  [
    'schedule',
    'sysvar.schedule exists only in a run of a schedule or a backfill, and this run is of none. ' +
      "For other runs give another value: 'schedule' in sysvar ? sysvar.schedule.tick : new Date().toISOString()",
  ],
  [
    'childPipeline',
    'sysvar.childPipeline exists only in the postProcessing of a component that calls a pipeline, after the call',
  ],
]);

/** Turns a MemberError into a message with the nearest name, or with the known names. */
export function explainMember(message: string, scope: ExpressionScope): string {
  const read = readMember(message);
  if (read === undefined) return 'the expression reads a member that does not exist';
  const { path, member } = read;
  const unset = path.length === 1 && path[0] === 'sysvar' ? unsetMembers.get(member) : undefined;
  if (unset !== undefined) return unset;
  const grid = scope.variables.find(({ name }) => name === path[0])?.value;
  const isOfGrid = path[0] !== 'sysvar' && grid !== undefined && isGrid(grid);
  const names = isOfGrid
    ? grid.columns.map(({ name }) => name)
    : Object.keys(findInner(scope.sysvar, path.slice(1)));
  const nearest = findNearestName(member, names);
  const remedy =
    nearest === undefined ? `it has ${names.slice(0, 20).join(', ')}` : `did you mean "${nearest}"?`;
  const what = isOfGrid ? `the grid variable "${path[0]}" has no column` : `${path.join('.')} has no member`;
  return `${what} "${member}": ${remedy}`;
}

function readMember(message: string): { path: string[]; member: string } | undefined {
  try {
    const [path, member]: unknown[] = JSON.parse(message);
    if (!Array.isArray(path) || typeof member !== 'string') return undefined;
    return { path: path.map(String), member };
  } catch {
    // The message was cut, or the expression itself threw an error of this name.
    return undefined;
  }
}

function findInner(
  object: Readonly<Record<string, unknown>>,
  path: readonly string[],
): Readonly<Record<string, unknown>> {
  const [first, ...rest] = path;
  if (first === undefined) return object;
  const inner = Object.hasOwn(object, first) ? object[first] : undefined;
  return typeof inner === 'object' && inner !== null ? findInner(inner as Record<string, unknown>, rest) : {};
}
