//! Quorate.
fn main() {
    for crd in quorate_api::crds() {
        println!("---\n{}", quorate_api::to_yaml(&crd));
    }
}
