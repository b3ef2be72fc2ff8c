/** A duration for readers: tenths below ten seconds, whole seconds from there on and for what still runs. */
export function duration(seconds: number, running = false): string {
  const whole = Math.round(seconds);
  if (whole >= 60) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return running || seconds >= 9.95 ? `${whole} s` : `${seconds.toFixed(1)} s`;
}
