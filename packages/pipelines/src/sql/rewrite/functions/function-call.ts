/** A call of a function as the rewriter gives it to the tables of functions. */
export interface FunctionCall {
  /** In upper case. */
  readonly name: string;
  readonly args: readonly string[];
  readonly source: readonly string[];
  readonly distinct: boolean;
  readonly orderBy?: string;
  readonly over?: string;
  readonly filter?: string;
  readonly named?: Readonly<Record<string, string>>;
  readonly dialect: 'snowflake' | 'redshift';
}

export function translateFunction(_call: FunctionCall): { sql: string; append?: boolean } | undefined {
  return undefined;
}
