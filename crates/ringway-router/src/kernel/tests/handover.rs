//! A process that takes over, and the tables of the one before.

use std::sync::atomic::Ordering::Relaxed;

use ringway_fwd::control::Pulse;

use super::{Made, in_namespace};
use crate::follow::{Engine, Options};
use crate::kernel::Spec;
use crate::kernel::layout::control as at;

/// While the new one fills its own tables the old ones are looked after, if they were good to their end.
#[test]
fn tables_that_were_good_are_kept_so_until_there_are_others() {
    in_namespace(|_| {
        let made = Made::new(&Spec::default());
        let router = made.get();
        for good in [true, false] {
            let mut control = router.take_control().unwrap();
            control.heartbeat(good).unwrap();
            control.publish(&mut Pulse::none()).unwrap();
            let page = control.tables().mapping("control", router.name()).unwrap();
            let said = || (page.u64(at::BEAT).load(Relaxed) != 0, page.u64(at::NS).load(Relaxed));
            drop(control);
            let before = said();
            let (engine, _) = Engine::take_over(router.name(), &Options::default()).unwrap();
            let after = said();
            assert_eq!((before.0, after.0, after.1 > before.1), (good, good, good));
            assert!(router.health().ready, "the new ones are");
            drop(engine);
        }
    });
}

/// Who has the claim keeps others from it, before there are tables; nothing was published that could be inherited.
#[test]
fn a_claim_is_one_processes() {
    in_namespace(|_| {
        let made = Made::new(&Spec::default());
        let claim = made.get().claim().unwrap();
        assert!(made.get().previous_tables(&claim).unwrap().is_none());
        assert_eq!(made.get().health().controller, Some(std::process::id()));
        assert!(made.get().take_control().is_err() && made.get().claim().is_err());
        let control = made.get().control(claim).unwrap();
        assert!(made.get().claim().is_err());
        drop(control);
        made.get().claim().unwrap();
    });
}
