export const noSniffing = { 'x-content-type-options': 'nosniff' } as const;
