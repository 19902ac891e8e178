/** Freezes values that several runs use. */

/** Freezes lists, plain objects, maps and sets, and all that they contain. Maps and sets refuse changes. */
export function deepFreeze<T>(value: T): T {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const each = open.pop();
    if (!isContainer(each) || Object.isFrozen(each)) continue;
    if (each instanceof Map) {
      for (const entry of each) open.push(...entry);
      lock(each, ['set', 'delete', 'clear']);
    } else if (each instanceof Set) {
      open.push(...each);
      lock(each, ['add', 'delete', 'clear']);
    }
    Object.freeze(each);
    for (const key of Reflect.ownKeys(each)) {
      const member = Object.getOwnPropertyDescriptor(each, key);
      if (member !== undefined && 'value' in member) open.push(member.value);
    }
  }
  return value;
}

/** Not functions and instances of other classes: a frozen regular expression, for example, does not work. */
function isContainer(value: unknown): value is object {
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return [Object.prototype, Array.prototype, Map.prototype, Set.prototype, null].includes(prototype);
}

function lock(collection: object, names: readonly string[]): void {
  const refuse = () => {
    throw new TypeError('this value is shared by runs and cannot change');
  };
  for (const name of names) Object.defineProperty(collection, name, { value: refuse });
}
