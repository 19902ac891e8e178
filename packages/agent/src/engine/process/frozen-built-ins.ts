/**
 * Freezes the objects of the language, so that no run can change what a later one uses.
 *
 * Node's `--frozen-intrinsics` makes an accessor of every property, because a frozen one could not be
 * overridden by assignment in an object that inherits it. That doubles the time of expressions. Here only
 * properties that programs do override get an accessor; ADR 0054.
 */

/** Names like these come from users, or are set in a constructor of an error. */
const overridden: readonly object[] = [
  Object.prototype,
  Error.prototype,
  EvalError.prototype,
  RangeError.prototype,
  ReferenceError.prototype,
  SyntaxError.prototype,
  TypeError.prototype,
  URIError.prototype,
  AggregateError.prototype,
];

/** Objects of the language that no global names. */
const unnamed: readonly object[] = [
  Object.getPrototypeOf(Int8Array),
  Object.getPrototypeOf(async () => undefined),
  Object.getPrototypeOf(function* empty() {}),
  Object.getPrototypeOf(async function* empty() {}),
  Object.getPrototypeOf([][Symbol.iterator]()),
  Object.getPrototypeOf(new Map()[Symbol.iterator]()),
  Object.getPrototypeOf(new Set()[Symbol.iterator]()),
  Object.getPrototypeOf(''[Symbol.iterator]()),
  Object.getPrototypeOf(''.matchAll(/a/g)),
];

/** The global names of the language; other globals belong to Node.js. */
const named = [
  ...['Object', 'Function', 'Array', 'Number', 'Boolean', 'String', 'Symbol', 'BigInt', 'Date', 'RegExp'],
  ...['Promise', 'Proxy', 'Reflect', 'JSON', 'Math', 'Atomics', 'Intl', 'WebAssembly', 'Iterator', 'console'],
  ...['Map', 'Set', 'WeakMap', 'WeakSet', 'WeakRef', 'FinalizationRegistry', 'ArrayBuffer', 'DataView'],
  ...['SharedArrayBuffer', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array'],
  ...['Int32Array', 'Uint32Array', 'Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array'],
  ...['BigUint64Array', 'Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError'],
  ...['URIError', 'AggregateError', 'parseFloat', 'parseInt', 'isFinite', 'isNaN', 'decodeURI', 'encodeURI'],
  ...['decodeURIComponent', 'encodeURIComponent', 'escape', 'unescape', 'eval'],
];

export function freezeBuiltIns(): void {
  const globals = globalThis as unknown as Record<string, unknown>;
  const open: unknown[] = [...unnamed, ...named.map((name) => globals[name])];
  const seen = new Set<object>();
  while (open.length > 0) {
    const each = open.pop();
    if ((typeof each !== 'object' && typeof each !== 'function') || each === null || seen.has(each)) continue;
    seen.add(each);
    open.push(Object.getPrototypeOf(each));
    for (const { value, get, set } of Object.values(Object.getOwnPropertyDescriptors(each)))
      open.push(value, get, set);
  }
  for (const each of overridden) allowOverrides(each);
  for (const each of seen) Object.freeze(each);
}

/** An assignment to an inheriting object defines its own property, as without the freezing. */
function allowOverrides(prototype: object): void {
  for (const [name, { value, writable }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (writable !== true) continue;
    Object.defineProperty(prototype, name, {
      get: () => value,
      set(this: object, next: unknown) {
        if (this === prototype) throw new TypeError(`cannot change ${name} of a built-in object`);
        Object.defineProperty(this, name, {
          value: next,
          writable: true,
          enumerable: true,
          configurable: true,
        });
      },
      configurable: false,
    });
  }
}
