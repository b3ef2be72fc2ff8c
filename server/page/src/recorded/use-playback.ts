import { useEffect, useState } from "react";
import { useReducedMotion } from "./use-reduced-motion";
import type { Row } from "../inspector/entries";
import { isRun, withRuns } from "../inspector/runs";

/** Milliseconds between two rows: minimum, maximum, between two turns, and if times are unknown. */
const [SHORTEST, LONGEST, BETWEEN_TURNS, UNTIMED] = [40, 1500, 900, 150];

export type Playback = {
  /** Number of replayed rows. */
  at: number;
  count: number;
  playing: boolean;
  speed: number;
  setSpeed: (speed: number) => void;
  toggle: () => void;
  seek: (at: number) => void;
  /** Go to the next or previous row. A run of fragments is one step. */
  step: (by: 1 | -1) => void;
};

/** Replay rows at their recorded pace. At first, all rows are shown. */
export function usePlayback(rows: Row[]): Playback {
  const [at, setAt] = useState(rows.length);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const reduced = useReducedMotion();
  const seek = (to: number) => {
    setPlaying(false);
    setAt(to);
  };
  useEffect(() => {
    if (!playing) return;
    const to = reduced ? stepFrom(rows, at, 1) : at + 1; // with reduced motion, the text of a run comes at once
    const timer = window.setTimeout(() => {
      setAt(to);
      if (to >= rows.length) setPlaying(false);
    }, pauseBefore(rows, at) / speed);
    return () => window.clearTimeout(timer);
  }, [playing, at, speed, rows, reduced]);
  return {
    at,
    count: rows.length,
    playing,
    speed,
    setSpeed,
    seek,
    toggle: () => {
      if (!playing && at >= rows.length) setAt(0);
      setPlaying(!playing);
    },
    step: (by) => seek(stepFrom(rows, at, by)),
  };
}

/** Return the number of rows after the next item or before the last item. */
function stepFrom(rows: Row[], at: number, by: 1 | -1): number {
  const ends = [0];
  for (const item of withRuns(rows)) ends.push((ends.at(-1) ?? 0) + (isRun(item) ? item.rows.length : 1));
  return (by > 0 ? ends.find((end) => end > at) : ends.findLast((end) => end < at)) ?? at;
}

function pauseBefore(rows: Row[], at: number): number {
  const next = rows[at];
  if (next?.entry.turn) return at === 0 ? 0 : BETWEEN_TURNS;
  const [before, now] = [timeOf(rows[at - 1]), timeOf(next)];
  return before === undefined || now === undefined ? UNTIMED : Math.min(LONGEST, Math.max(SHORTEST, 1000 * (now - before)));
}

function timeOf(row: Row | undefined): number | undefined {
  return row?.entry.turn ? 0 : (row?.entry.at ?? row?.chunks[0]?.at);
}
