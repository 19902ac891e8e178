/**
 * Reads the arguments of a command for developers. An invalid argument prints the usage and ends the process.
 */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

export function readCommandLine<const Options extends ParseArgsOptionsConfig>(
  usage: string,
  options: Options,
) {
  function refuse(why: string): never {
    console.error(`${why}\nusage: ${usage}`);
    process.exit(2);
  }

  /** A whole number from 1. */
  function count(name: string, text: string): number {
    const number = Number(text);
    if (!Number.isSafeInteger(number) || number < 1)
      refuse(`${name} must be a whole number from 1; it is "${text}"`);
    return number;
  }

  if (process.argv.includes('--help')) {
    console.log(`usage: ${usage}`);
    process.exit(0);
  }
  try {
    return { ...parseArgs({ allowPositionals: true, options }), count, refuse };
  } catch (failure) {
    return refuse(failure instanceof Error ? failure.message : String(failure));
  }
}
