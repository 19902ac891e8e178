/** The log of the modules that start processes: the server's log, in pino's shape. */
export interface ProcessLog {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}
