/** Settings as text, read as what they are meant to be; each bad one becomes a fault that names it. */

export type Environment = Readonly<Record<string, string | undefined>>;

export type Reader = ReturnType<typeof reader>;

/** Adds a line to `faults` for each value that is bad. */
export function reader(environment: Environment, faults: string[]) {
  const names = new Set<string>();
  function text(name: string): string | undefined {
    names.add(name);
    return environment[name] || undefined;
  }
  function fault(name: string, expected: string): undefined {
    faults.push(`${name} must be ${expected}; it is ${JSON.stringify(environment[name])}`);
  }
  function integer(name: string, preset: number, least: number, most: number, orElse = ''): number {
    const given = text(name);
    if (given === undefined) return preset;
    const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
    if (value >= least && value <= most) return value;
    fault(name, `a whole number from ${least} to ${most}${orElse}`);
    return preset;
  }
  return {
    text,
    /** The settings that were read so far, given or not. */
    names: names as ReadonlySet<string>,
    integer: (name: string, preset: number, least: number, most: number) =>
      integer(name, preset, least, most),
    integerOrOff: (name: string, preset: number, least: number, most: number): number | undefined =>
      text(name) === 'off' ? undefined : integer(name, preset, least, most, ', or off'),
    /** Undefined: for ever. */
    days: (name: string, preset: number): number | undefined =>
      text(name) === 'forever' ? undefined : integer(name, preset, 1, 36_500, ', or forever'),
    /** What `parse` makes of a value; it throws, in words for the operator, on a bad one. */
    parsed<Value>(name: string, parse: (text: string) => Value): Value | undefined {
      const given = text(name);
      if (given === undefined) return undefined;
      try {
        return parse(given);
      } catch (failure) {
        faults.push(`${name}: ${(failure as Error).message}`);
        return undefined;
      }
    },
    onOff(name: string, preset: 'on' | 'off' = 'on'): boolean {
      const given = text(name) ?? preset;
      if (given !== 'on' && given !== 'off') fault(name, 'on or off');
      return given !== 'off';
    },
    oneOf<Word extends string>(name: string, words: readonly Word[], preset: Word): Word {
      const given = text(name);
      return (
        words.find((word) => word === (given ?? preset)) ??
        fault(name, `one of ${words.join(', ')}`) ??
        preset
      );
    },
    matching(name: string, form: RegExp, expected: string): string | undefined {
      const given = text(name);
      return given === undefined || form.test(given) ? given : fault(name, expected);
    },
    /** A database's address may hold a password: it is named by its fault, never repeated. */
    address(name: string, protocols: readonly string[]): string | undefined {
      const given = text(name);
      if (given === undefined) return undefined;
      if (URL.canParse(given) && protocols.includes(new URL(given).protocol))
        return given.replace(/\/+$/, '');
      faults.push(
        `${name} must be an address that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`,
      );
      return undefined;
    },
  };
}
