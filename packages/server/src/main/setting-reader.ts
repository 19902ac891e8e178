import { trimEnd } from '@headgate/pipelines';
/** Parses settings; each invalid value becomes a fault that names the setting. */

export type Environment = Readonly<Record<string, string | undefined>>;

export type Reader = ReturnType<typeof createReader>;

/** Adds a line to `faults` for each invalid value. */
export function createReader(environment: Environment, faults: string[]) {
  const names = new Set<string>();
  function text(name: string): string | undefined {
    names.add(name);
    return environment[name] || undefined;
  }
  function fault(name: string, expected: string): undefined {
    faults.push(`${name} must be ${expected}; it is ${JSON.stringify(environment[name])}`);
  }
  function integer(name: string, preset: number, least: number, most: number, orElse = ''): number {
    const input = text(name);
    if (input === undefined) return preset;
    const value = /^\d{1,15}$/.test(input) ? Number(input) : Number.NaN;
    if (value >= least && value <= most) return value;
    fault(name, `a whole number from ${least} to ${most}${orElse}`);
    return preset;
  }
  return {
    text,
    /** The names of the settings read so far, set or not. */
    names: names as ReadonlySet<string>,
    integer: (name: string, preset: number, least: number, most: number) =>
      integer(name, preset, least, most),
    integerOrOff: (name: string, preset: number, least: number, most: number): number | undefined =>
      text(name) === 'off' ? undefined : integer(name, preset, least, most, ', or off'),
    /** Undefined to keep forever. */
    days: (name: string, preset: number): number | undefined =>
      text(name) === 'forever' ? undefined : integer(name, preset, 1, 36_500, ', or forever'),
    /** Parses a value by `parse`, whose error is the message for the operator. */
    parsed<Value>(name: string, parse: (text: string) => Value): Value | undefined {
      const input = text(name);
      if (input === undefined) return undefined;
      try {
        return parse(input);
      } catch (failure) {
        faults.push(`${name}: ${(failure as Error).message}`);
        return undefined;
      }
    },
    onOff(name: string, preset: 'on' | 'off' = 'on'): boolean {
      const input = text(name) ?? preset;
      if (input !== 'on' && input !== 'off') fault(name, 'on or off');
      return input !== 'off';
    },
    oneOf<Word extends string>(name: string, words: readonly Word[], preset: Word): Word {
      const input = text(name);
      return (
        words.find((word) => word === (input ?? preset)) ??
        fault(name, `one of ${words.join(', ')}`) ??
        preset
      );
    },
    matching(name: string, form: RegExp, expected: string): string | undefined {
      const input = text(name);
      return input === undefined || form.test(input) ? input : fault(name, expected);
    },
    /** The address may hold a password, so the fault does not repeat it. */
    address(name: string, protocols: readonly string[]): string | undefined {
      const input = text(name);
      if (input === undefined) return undefined;
      if (URL.canParse(input) && protocols.includes(new URL(input).protocol)) return trimEnd(input, '/');
      faults.push(
        `${name} must be a URL that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`,
      );
      return undefined;
    },
  };
}
